// The query planner's word on every hot statement: each goes by the index that was meant for it, and
// none sorts or scans.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import type { ListQuery } from "../../../src/ports/TimerStore.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { namespaceSql } from "../../../src/stores/sqlite/NamespaceTable.ts"
import { readerSql, writerSql } from "../../../src/stores/sqlite/statements.ts"
import { countSql, pageSql, walkOf } from "../../../src/stores/sqlite/walks.ts"

const database = new Database(":memory:")
for (const sql of migrations) database.run(sql)

const planOf = (sql: string): ReadonlyArray<string> => {
  const parameters = new Set(sql.match(/\?\d+/g)).size
  const rows = database
    .query(`EXPLAIN QUERY PLAN ${sql}`)
    .values(...Array.from({ length: parameters }, () => 1))
  return rows.map((row) => String(row[3]))
}

const expectIndexed = (sql: string, ...used: ReadonlyArray<string>): void => {
  const plan = planOf(sql)
  for (const name of used) expect(plan.join("; ")).toContain(name)
  expect(plan.filter((step) => /TEMP B-TREE|^SCAN (t|b|timers|bodies|history|dead)\b/.test(step))).toEqual([])
}

const byKey = "(namespace=? AND timer_id=?)"

describe("statements of the writer", () => {
  test("look a key up by the key's indexes", () => {
    expectIndexed(
      writerSql.probe,
      `timers USING COVERING INDEX timers_by_key ${byKey}`,
      `history USING COVERING INDEX history_by_key ${byKey}`,
      `dead USING COVERING INDEX dead_by_key ${byKey}`,
    )
    expectIndexed(writerSql.head, `INDEX timers_by_key ${byKey}`)
    expectIndexed(writerSql.attempted, `INDEX timers_by_key ${byKey}`)
    expectIndexed(writerSql.endedLife, "INDEX history_by_key (namespace=? AND timer_id=? AND revision=?)")
    expectIndexed(writerSql.endedArming, "INDEX history_by_key (namespace=? AND timer_id=? AND revision>?)")
    expectIndexed(writerSql.deadLife, "INDEX dead_by_key (namespace=? AND timer_id=? AND revision=?)")
    expectIndexed(writerSql.deadArming, "INDEX dead_by_key (namespace=? AND timer_id=? AND revision>?)")
  })

  test("change rows by their ids", () => {
    const names = [
      "spec",
      "body",
      "updateTimer",
      "updateBody",
      "updateSpec",
      "insertDelivered",
      "deleteTimer",
      "deleteBody",
      "deleteEnded",
    ] as const
    for (const name of names) expectIndexed(writerSql[name], "USING INTEGER PRIMARY KEY (rowid=?)")
    for (const name of ["epoch", "tally", "foreign", "claim", "renew", "release"] as const) {
      expectIndexed(writerSql[name], "USING INTEGER PRIMARY KEY (rowid=?)")
    }
  })

  test("prune along the ids", () => {
    expectIndexed(
      writerSql.prune,
      "history USING INTEGER PRIMARY KEY (rowid=?)",
      "history USING INTEGER PRIMARY KEY (rowid>?)",
    )
  })
})

describe("statements of the reader", () => {
  test("read due pages along an index, whatever namespaces are chosen", () => {
    for (const pages of [readerSql.due, readerSql.heads]) {
      expectIndexed(pages.all, "t USING INDEX timers_by_due (shard=? AND (fire_at,fire_id)>(?,?)")
      expectIndexed(pages.except, "t USING INDEX timers_by_due (shard=? AND (fire_at,fire_id)>(?,?)")
      expectIndexed(pages.only, "t USING INDEX timers_by_namespace (namespace=? AND (fire_at,fire_id)>(?,?)")
    }
  })

  test("find a key by the key's indexes", () => {
    expectIndexed(readerSql.pending, `INDEX timers_by_key ${byKey}`, "b USING INTEGER PRIMARY KEY")
    expectIndexed(readerSql.lastEnded, `INDEX history_by_key ${byKey}`)
    expectIndexed(readerSql.lastDead, `INDEX dead_by_key ${byKey}`)
  })

  test("find names from one to the next, each by one look at every index", () => {
    const plan = planOf(namespaceSql.names)
    for (const index of ["timers_by_key", "history_by_key", "dead_by_key"]) {
      expect(plan.filter((step) => step.includes(`COVERING INDEX ${index} (namespace>?)`))).toHaveLength(1)
    }
    expect(plan.filter((step) => step.includes("namespaces USING PRIMARY KEY (namespace>?)"))).toHaveLength(1)
    expect(plan.filter((step) => /^SCAN (timers|history|dead|namespaces)\b|TEMP B-TREE/.test(step))).toEqual(
      [],
    )
  })

  test("find changed settings by their versions", () => {
    expectIndexed(namespaceSql.changes, "INDEX namespaces_by_version (version>?)")
    expectIndexed(namespaceSql.get, "PRIMARY KEY (namespace=?)")
    expectIndexed(namespaceSql.put, "INDEX namespaces_by_version")
  })

  test("walk lists and counts along an index, in either direction, from a cursor or the beginning", () => {
    const base = { namespace: "shop", limit: 1, reversed: false, includePayload: false }
    const cases: ReadonlyArray<readonly [Partial<ListQuery>, string]> = [
      [{ state: "pending" }, "timers_by_namespace (namespace=?"],
      [{ state: "pending", idPrefix: "a" }, "timers_by_key (namespace=? AND timer_id>? AND timer_id<?"],
      [{ state: "delivered" }, "history_by_end (namespace=? AND state=?"],
      [{ state: "cancelled", idPrefix: "a" }, "history_by_key (namespace=? AND timer_id>? AND timer_id<?"],
      [{ state: "dead" }, "dead_by_end (namespace=?"],
      [{ state: "dead", idPrefix: "a" }, "dead_by_key (namespace=? AND timer_id>? AND timer_id<?"],
    ]
    for (const [shape, used] of cases) {
      for (const bounds of [{}, { inclusiveFromMs: 1, exclusiveUntilMs: 2 }, { correlationId: "c" }]) {
        const query = { ...base, ...shape, ...bounds } as ListQuery
        for (const isDescending of [false, true]) {
          expectIndexed(pageSql(walkOf(query), undefined, isDescending), used)
          const key = query.idPrefix === undefined ? ([1, 1] as const) : (["a", 1] as const)
          const isPendingId = query.state === "pending" && query.idPrefix !== undefined
          const after = isPendingId ? (["a"] as const) : key
          expect(planOf(pageSql(walkOf(query), after, isDescending)).join()).not.toContain("TEMP B-TREE")
        }
        expectIndexed(countSql(walkOf(query)), used)
      }
    }
  })
})
