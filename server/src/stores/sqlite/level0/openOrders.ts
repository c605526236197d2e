// Reads the journal of a file when its writer starts.
import type { Database } from "bun:sqlite"
import { damaged } from "../damage.ts"
import { writeTransaction } from "../writeTransaction.ts"
import { DamagedJournal } from "./Move.ts"
import { WriterOrders } from "./WriterOrders.ts"

export const openOrders = (database: Database, path: string): WriterOrders => {
  const orders = new WriterOrders(database)
  try {
    orders.keeping(() => writeTransaction(database, () => orders.follow()))
    return orders
  } catch (error) {
    if (!(error instanceof DamagedJournal)) throw error
    throw damaged(path, error.message, "store")
  }
}
