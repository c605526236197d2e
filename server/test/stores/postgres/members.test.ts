// The entries of nodes among the members, as the store keeps them beside those of earlier releases.
import { expect, test } from "bun:test"
import { SQL } from "bun"
import { Effect } from "effect"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"

describePostgres("packaged", "an entry among the members", () => {
  const server = serverForTests("packaged", { isFsyncOn: true })

  test("says if the release that wrote it does not sign calls between nodes", async () => {
    const { url, schema } = server().database()
    await using sql = new SQL({ url: server().url, max: 1 })
    const oldProcess = "a process of the release before"
    const oldEntry = () =>
      sql.unsafe(
        `INSERT INTO ${schema}.members (node, address, beat, is_leaving, process) VALUES ($1, '', 1, false, $2)`,
        ["old", oldProcess],
      )
    const program = Effect.gen(function* () {
      const leases = yield* ShardLeases
      yield* Effect.promise(() => oldEntry())
      yield* leases.announce({ node: "new", address: "", isLeaving: false })
      const before = yield* leases.members
      yield* leases.retireSilent({ node: "old", process: oldProcess, beat: 1 })
      yield* leases.announce({ node: "old", address: "", isLeaving: false })
      return [before, yield* leases.members]
    })
    const layer = PostgresStore.layer({ url, shards: 1, connections: 2 })
    const [before, after] = await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)))
    const said = (members = before) => members?.map(({ node, lacksSignatures }) => [node, lacksSignatures])
    expect(said()).toEqual([
      ["new", undefined],
      ["old", true],
    ])
    expect(said(after)).toEqual([
      ["new", undefined],
      ["old", undefined],
    ])
  })
})
