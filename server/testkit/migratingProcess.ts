// A process that opens an SQLite store and so migrates it, for a test that kills it.
// bun migratingProcess.ts <path> <shards>
import { openForWriting } from "../src/stores/sqlite/openDatabase.ts"

const [path = "", shards = "1"] = process.argv.slice(2)
const { database, lock } = openForWriting({ path, shards: Number(shards) })
database.close()
lock.close()
