import { describePostgres } from "@punctual/server/testkit/PostgresBinaries"
import { serverForTests } from "@punctual/server/testkit/postgres"
import { PostgresCallStore } from "../../src/stores/postgres/PostgresCallStore.ts"
import { callStoreSuite } from "../../testkit/CallStore.suite.ts"

describePostgres("packaged", "on the packaged server", () => {
  const server = serverForTests("packaged")
  callStoreSuite({
    name: "PostgreSQL",
    isShared: true,
    fresh: () => {
      const { url } = server().database()
      return Promise.resolve({
        open: () => PostgresCallStore.layer({ url, connections: 4 }),
        dispose: () => Promise.resolve(),
      })
    },
  })
})
