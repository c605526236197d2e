// What commands do with rows that cannot be read: `punctual export` leaves them out, names them and ends with 1.
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { SQL } from "bun"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { run } from "../CommandFixture.ts"
import { fill, keeping } from "./KeptStoreRig.ts"

// Threads start slowly while other tests use the machine.
setDefaultTimeout(30_000)

/** Checks a store that was filled with three pending timers, one delivered, one cancelled and one dead. */
const expectRest = async (url: string, missing: ReadonlyArray<string>): Promise<void> => {
  const { exitCode, out, err } = await run(["export", "--store", url], {
    parts: { openArchive: keeping.archive },
  })
  expect(exitCode).toBe(1)
  const lines = out.trimEnd().split("\n").slice(1, -1)
  const timerIds = lines.map((line) => JSON.parse(line).timerId)
  const all = ["t-0", "t-1", "t-2", "delivered", "cancelled", "dead"]
  expect(timerIds.sort()).toEqual(all.filter((timerId) => !missing.includes(timerId)).sort())
  const names = missing.map((timerId) => `shop/${timerId}`).join(", ")
  expect(err).toContain(
    `${missing.length} timers (${names}) cannot be read. The archive has everything else.`,
  )
}

describe("on SQLite", () => {
  test("an export leaves out unreadable rows and rows with missing bodies, and names them", async () => {
    using folder = new TemporaryFolder()
    const path = join(folder.path, "store.db")
    await fill(`sqlite:${path}`, 3)
    {
      using database = new Database(path)
      const idOf = (timerId: string) => `(SELECT id FROM timers WHERE timer_id = '${timerId}')`
      database.run(`DELETE FROM bodies WHERE id = ${idOf("t-0")}`)
      database.run(`UPDATE bodies SET spec = '{' WHERE id = ${idOf("t-1")}`)
      database.run("UPDATE history SET last_attempt = '{' WHERE timer_id = 'cancelled'")
      database.run("UPDATE dead SET spec = '[]' WHERE timer_id = 'dead'")
    }
    await expectRest(`sqlite:${path}`, ["t-0", "t-1", "cancelled", "dead"])
  })
})

describePostgres("installed", "on PostgreSQL", () => {
  const server = serverForTests("installed")

  test("an export leaves out unreadable rows, and names them", async () => {
    const { url, schema } = server().database()
    await fill(url, 3)
    {
      await using sql = new SQL({ url: server().url, max: 1 })
      await sql.unsafe(`UPDATE ${schema}.timers SET spec = '{' WHERE timer_id = 't-1'`)
      await sql.unsafe(`UPDATE ${schema}.history SET last_attempt = '{' WHERE timer_id = 'cancelled'`)
      await sql.unsafe(`UPDATE ${schema}.history SET spec = '[]' WHERE timer_id = 'dead'`)
    }
    await expectRest(url, ["t-1", "cancelled", "dead"])
  })
})
