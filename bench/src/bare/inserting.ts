// The thread of insertingEcho.ts: each message is rows for one commit, and is answered when that is on the disk.
import { parentPort, workerData } from "node:worker_threads"
import { type BareRow, BareTables } from "./BareTables.ts"

const tables = new BareTables((workerData as { readonly folder: string }).folder)

parentPort?.on("message", (rows: ReadonlyArray<BareRow>) => {
  tables.insert(rows)
  parentPort?.postMessage(rows.length)
})
