// Compares the orders of pending timers, with the journal, to the timers themselves. SQLite cannot check this: it does not
// know that these tables belong together.
import type { Database } from "bun:sqlite"
import { bitsOf, KeyFilter } from "./KeyFilter.ts"
import { type PendingOrder, unionOfLevels } from "./orders.ts"
import type { ReaderOrders } from "./ReaderOrders.ts"

const orders: ReadonlyArray<{ readonly order: PendingOrder; readonly name: string; readonly same: string }> =
  [
    { order: "keys", name: "ids", same: "t.namespace = e.namespace AND t.timer_id = e.timer_id" },
    {
      order: "dues",
      name: "due times by shard",
      same: "t.shard = e.shard AND t.fire_at = e.fire_at AND t.fire_id = e.fire_id AND t.namespace = e.namespace",
    },
    {
      order: "times",
      name: "due times by namespace",
      same: "t.namespace = e.namespace AND t.fire_at = e.fire_at AND t.fire_id = e.fire_id AND t.shard = e.shard",
    },
  ]

/** Must run inside a transaction. */
export const faultsOfOrders = (followed: ReaderOrders): ReadonlyArray<string> => {
  followed.follow()
  const { database, shown } = followed
  const timers = numberOf(database, "SELECT count(*) FROM main.timers")
  const ofOrders = orders.flatMap(({ order, name, same }) => {
    const entries = unionOfLevels(
      shown,
      order,
      (from, conditions) =>
        `SELECT EXISTS (SELECT 1 FROM main.timers AS t WHERE t.id = e.id AND ${same}) AS fits, e.id AS id FROM ${from}
          WHERE ${["TRUE", ...conditions].join(" AND ")}`,
    )
    // A timer that is twice in an order counts once.
    const [all, rows] = database
      .query(`SELECT count(*), count(DISTINCT CASE WHEN fits THEN id END) FROM (${entries})`)
      .values()[0] ?? [0, 0]
    const missing = timers - Number(rows)
    const faults: Array<string> = []
    if (missing > 0) faults.push(`the order of ${name} lacks ${missing} of ${timers} pending timers`)
    const tooMany = Number(all) - Number(rows)
    if (tooMany > 0) {
      faults.push(
        `the order of ${name} has ${tooMany} ${tooMany === 1 ? "entry" : "entries"} of no pending timer`,
      )
    }
    return faults
  })
  return [...ofOrders, ...entriesOfNoRun(database), ...faultsOfRuns(database)]
}

/** Nobody would read them. */
const entriesOfNoRun = (database: Database): ReadonlyArray<string> =>
  orders.flatMap(({ order, name }) => {
    const entries = numberOf(
      database,
      `SELECT count(*) FROM main.run_${order} AS e, main.merging AS l
        WHERE e.run < l.first_run OR e.run > l.last_run + l.frozen_to_run`,
    )
    return entries === 0 ? [] : [`the order of ${name} has ${entries} in runs that do not exist`]
  })

const numberOf = (database: Database, sql: string): number =>
  Number(database.query(sql).values()[0]?.[0] ?? 0)

/** A store with a run that has no row does not start, and a key that its filter lacks would look unused. */
const faultsOfRuns = (database: Database): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const lost = numberOf(
    database,
    `SELECT last_run - first_run + 1 - (SELECT count(*) FROM main.runs WHERE run BETWEEN first_run AND last_run)
      FROM main.merging WHERE one = 1`,
  )
  if (lost > 0) faults.push(`${lost} of the runs that are in use have no row in the table runs`)
  for (const [run, bytes] of database.query("SELECT run, filter FROM main.runs").values()) {
    const filter = new KeyFilter(bytes as Uint8Array)
    const uuids = database.query(
      "SELECT lower(hex(t.uuid)) FROM main.run_keys AS e CROSS JOIN main.timers AS t ON t.id = e.id WHERE e.run = ?1",
    )
    let missing = 0
    for (const row of uuids.iterate(run as number)) {
      const [uuid] = Object.values(row as object)
      if (!filter.mayHave(bitsOf({ uuid: String(uuid) }))) missing++
    }
    if (missing > 0) faults.push(`the filter of run ${run} lacks ${missing} of its ids`)
  }
  return faults
}
