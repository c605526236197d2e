// Jobs on many timers on the stores that need no server.
import { join } from "node:path"
import { bulkJobsSuite } from "../../testkit/BulkJobs.suite.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

bulkJobsSuite({ name: "memory", fresh: () => "memory:", isDurable: false })

const folder = new TemporaryFolder()
let made = 0

bulkJobsSuite({
  name: "SQLite",
  fresh: () => `sqlite:${join(folder.path, `${made++}.db`)}`,
  isDurable: true,
  end: () => folder[Symbol.dispose](),
})
