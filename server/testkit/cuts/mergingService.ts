// The service as a test starts it to kill it in the middle of merges: its layers hold few moves, so a merge of the orders
// of pending timers is under way nearly all the time.
import { allBuses } from "../../src/buses/all.ts"
import type { StoreAdapter } from "../../src/ports/StoreAdapter.ts"
import { installDriver } from "../../src/program/drivers.ts"
import { runService } from "../../src/service.ts"
import { sqlite } from "../../src/stores/sqlite/adapter.ts"
import { SqliteStore } from "../../src/stores/sqlite/SqliteStore.ts"

const layerMoves = 60

const merging: StoreAdapter = {
  ...sqlite,
  parse: (url) => {
    const parsed = sqlite.parse(url)
    if (!("value" in parsed)) return parsed
    const { value } = parsed
    return {
      value: {
        ...value,
        open: (opening) => SqliteStore.layer({ ...opening, path: value.place, layerMoves }),
      },
    }
  },
}

const end = (message: string): never => {
  process.stderr.write(`punctual: ${message}\n`)
  process.exit(1)
}

const code = await runService({
  environment: process.env,
  adapters: { stores: [merging], buses: allBuses },
  workerUrl: new URL("../../src/stores/sqlite/worker.ts", import.meta.url),
  installDriver,
  onFatal: end,
  writeError: (message) => process.stderr.write(`punctual: ${message}\n`),
})
process.exit(code)
