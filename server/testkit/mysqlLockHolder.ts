// A process that stops between the lock of a fence and its commit, for a test that freezes it there. It says `locked`,
// waits for a line on stdin, tries to commit, and says whether that was `committed` or `refused`.
import { Session } from "../src/stores/mysql/MysqlSessions.ts"
import { parseMysqlUrl } from "../src/stores/mysql/mysqlUrl.ts"

const parsed = parseMysqlUrl(process.argv[2] ?? "")
if ("problem" in parsed) throw new Error(parsed.problem)
const session = new Session(parsed.value, "writing")
await session.begin(["SELECT shard FROM shards WHERE shard = 0 FOR UPDATE"])
process.stdout.write("locked\n")
for await (const _ of console) break
const result = await session.commit(["UPDATE shards SET created = created + 1 WHERE shard = 0"]).then(
  () => "committed",
  () => "refused",
)
process.stdout.write(`${result}\n`)
process.exit(0)
