// The agent's SQLite store in a temporary folder.
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { SqliteCallStore } from "../src/stores/sqlite/SqliteCallStore.ts"
import type { CallStoreFixture } from "./CallStoreFixture.ts"

export const callWorkerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)

export const sqliteCalls: CallStoreFixture = {
  name: "SQLite",
  isShared: false,
  fresh: () => {
    const folder = new TemporaryFolder()
    const path = join(folder.path, "agent.db")
    return Promise.resolve({
      open: () => SqliteCallStore.layer({ path, workerUrl: callWorkerUrl }),
      dispose: () => Promise.resolve(folder[Symbol.dispose]()),
    })
  },
}
