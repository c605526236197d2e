// The thread of insertingEcho.ts. Each message has the rows of one commit. The thread answers when the commit is on disk.
import { parentPort, workerData } from "node:worker_threads"
import { type BareRow, BareTables } from "./BareTables.ts"

const tables = new BareTables((workerData as { readonly folder: string }).folder)

parentPort?.on("message", (rows: ReadonlyArray<BareRow>) => {
  tables.insert(rows)
  parentPort?.postMessage(rows.length)
})
