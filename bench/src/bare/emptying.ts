// The thread of EmptyingThread.ts.
import { type BareTables, filledTables } from "./BareTables.ts"
import type { Task } from "./EmptyingThread.ts"

declare const self: Worker

let tables: BareTables | undefined

self.onmessage = ({ data: { task, rows, folder } }: MessageEvent<Task>) => {
  if (task === "fill") tables = filledTables(folder, rows)
  else tables?.selectAndDelete(rows)
  self.postMessage(task)
}
