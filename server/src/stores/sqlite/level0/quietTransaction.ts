// A transaction of a merge. It needs no fsync: the next commit makes all earlier transactions durable.
import { writeTransaction } from "../writeTransaction.ts"
import type { WriterOrders } from "./WriterOrders.ts"

export const quietTransaction = <A>(orders: WriterOrders, body: () => A): A => {
  const { database } = orders
  database.run("PRAGMA main.synchronous = NORMAL")
  try {
    return orders.keeping(() =>
      writeTransaction(database, () => {
        // Another process may have merged in the meantime, before it ended.
        orders.follow()
        return body()
      }),
    )
  } finally {
    database.run("PRAGMA main.synchronous = FULL")
  }
}
