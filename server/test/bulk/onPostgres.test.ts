// Jobs on many timers on PostgreSQL.
import { bulkJobsSuite } from "../../testkit/BulkJobs.suite.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../testkit/postgres.ts"

describePostgres("packaged", "on a real server", () => {
  const server = serverForTests("packaged")
  bulkJobsSuite({ name: "PostgreSQL", fresh: () => server().database().url, isDurable: true })
})
