// A transaction that takes the write lock before it reads, so that nothing changes between its reads and its writes.
import type { Database } from "bun:sqlite"

export const writeTransaction = <A>(database: Database, body: () => A): A => {
  database.run("BEGIN IMMEDIATE")
  try {
    const result = body()
    database.run("COMMIT")
    return result
  } catch (error) {
    if (database.inTransaction) database.run("ROLLBACK")
    throw error
  }
}
