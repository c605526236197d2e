// The query planner's plan of every hot statement. Each uses its intended index, and none sorts or scans.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import type { Scan, SortKey } from "../../../src/ports/ShardStorage.ts"
import { type Levels, layerNames } from "../../../src/stores/sqlite/level0/orders.ts"
import { ReaderOrders } from "../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { migrations } from "../../../src/stores/sqlite/migrations/all.ts"
import { namespaceNamesSql } from "../../../src/stores/sqlite/namespaceNames.ts"
import { countSql, scanSql } from "../../../src/stores/sqlite/scans.ts"
import { dueSql, lookupSql, storedIdSql, writerSql } from "../../../src/stores/sqlite/statements.ts"

const database = new Database(":memory:")
for (const sql of migrations) database.run(sql)
new ReaderOrders(database, { isReadOnly: false }).follow()
const alone: Levels = { layers: [], runs: 0 }
/** A reader asks the layers and the runs beside the tables. It reads them side by side, and sorts nothing. */
const allLevels: ReadonlyArray<Levels> = [alone, { layers: [], runs: 3 }, { layers: layerNames, runs: 2 }]

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
  expect(
    plan.filter((step) => /TEMP B-TREE|^SCAN (t|b|timers|bodies|history|dead|lookups|l|r|e)\b/.test(step)),
  ).toEqual([])
}

const byKey = "(namespace=? AND timer_id=?)"
const byWord = "l USING PRIMARY KEY (namespace=? AND word=? AND state=?"

describe("statements of the writer", () => {
  test("find a key by the key's indexes", () => {
    expectIndexed(storedIdSql, `timer_keys USING PRIMARY KEY ${byKey}`)
    expectIndexed(
      lookupSql.probe,
      `history USING COVERING INDEX history_by_key ${byKey}`,
      `dead USING COVERING INDEX dead_by_key ${byKey}`,
    )
    expectIndexed(lookupSql.head, "t USING INTEGER PRIMARY KEY (rowid=?)")
    expectIndexed(writerSql.inState, "timers USING INTEGER PRIMARY KEY (rowid=?)")
    expectIndexed(
      writerSql.insertNewTimer,
      `timer_keys USING PRIMARY KEY ${byKey}`,
      `history USING COVERING INDEX history_by_key ${byKey}`,
    )
    expectIndexed(lookupSql.endedLife, "INDEX history_by_key (namespace=? AND timer_id=? AND revision=?)")
    expectIndexed(lookupSql.endedArming, "INDEX history_by_key (namespace=? AND timer_id=? AND revision>?)")
    expectIndexed(lookupSql.deadLife, "INDEX dead_by_key (namespace=? AND timer_id=? AND revision=?)")
    expectIndexed(lookupSql.deadArming, "INDEX dead_by_key (namespace=? AND timer_id=? AND revision>?)")
  })

  test("change rows by their ids", () => {
    const names = [
      "updateTimer",
      "updateBody",
      "updateSpec",
      "deleteTimer",
      "deleteBody",
      "deleteEnded",
    ] as const
    for (const name of names) expectIndexed(writerSql[name], "USING INTEGER PRIMARY KEY (rowid=?)")
    for (const name of ["spec", "body"] as const) {
      expectIndexed(lookupSql[name], "USING INTEGER PRIMARY KEY (rowid=?)")
    }
    for (const name of ["epoch", "tally", "foreign", "claim", "renew", "release"] as const) {
      expectIndexed(writerSql[name], "USING INTEGER PRIMARY KEY (rowid=?)")
    }
  })

  test("change and prune words by their keys", () => {
    expectIndexed(
      writerSql.deleteWord,
      "lookups USING PRIMARY KEY (namespace=? AND word=? AND state=? AND at=? AND fire_id=?)",
    )
    expectIndexed(writerSql.pruneWords, "lookups USING COVERING INDEX lookups_prunable (at<?)")
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
  test("read due pages along an index, for any chosen namespaces", () => {
    for (const page of [dueSql.timers, dueSql.heads]) {
      for (const levels of allLevels) {
        const due = "e USING PRIMARY KEY (shard=? AND (fire_at,fire_id)>(?,?)"
        expectIndexed(page(levels, "all"), due)
        expectIndexed(page(levels, "except"), due)
        expectIndexed(page(levels, "only"), "e USING PRIMARY KEY (namespace=? AND (fire_at,fire_id)>(?,?)")
      }
    }
  })

  test("find names from one to the next, each by one look at every index", () => {
    const plan = planOf(namespaceNamesSql(alone))
    expect(plan.filter((step) => step.includes("e USING PRIMARY KEY (namespace>?)"))).toHaveLength(1)
    for (const index of ["history_by_key", "dead_by_key"]) {
      expect(plan.filter((step) => step.includes(`COVERING INDEX ${index} (namespace>?)`))).toHaveLength(1)
    }
    expect(plan.filter((step) => /^SCAN (timers|history|dead)\b|TEMP B-TREE/.test(step))).toEqual([])
  })

  test("scan and count along an index, in either direction, from a position or the beginning", () => {
    const ids = { inclusiveFromId: "a", exclusiveUntilId: "b" }
    const cases: ReadonlyArray<readonly [Pick<Scan, "order"> & Partial<Scan>, SortKey, string]> = [
      [{ order: "due" }, [1, "0"], "e USING PRIMARY KEY (namespace=?"],
      [{ order: "due", namespace: 3 }, [1, "0"], "e USING PRIMARY KEY (shard=?"],
      [
        { order: "pendingId", ...ids },
        ["a"],
        "e USING PRIMARY KEY (namespace=? AND timer_id>? AND timer_id<?",
      ],
      [{ order: "end", state: "delivered" }, [1, 1], "history_by_end (namespace=? AND state=?"],
      [
        { order: "finishedId", state: "cancelled", ...ids },
        ["a", 1],
        "history_by_key (namespace=? AND timer_id>?",
      ],
      [
        { order: "finishedId", state: "cancelled", timerId: "a" },
        ["a", 1],
        "history_by_key (namespace=? AND timer_id=?",
      ],
      [{ order: "end", state: "dead" }, [1, 1], "dead_by_end (namespace=?"],
      [{ order: "word", word: "t:a" }, ["t:a", 1, "0"], byWord],
      [{ order: "word", word: "t:a", state: "delivered" }, ["t:a", 1, "0"], byWord],
      [{ order: "word", word: "t:a", state: "dead" }, ["t:a", 1, "0"], byWord],
      [{ order: "finishedId", state: "dead", ...ids }, ["a", 1], "dead_by_key (namespace=? AND timer_id>?"],
    ]
    const times = { inclusiveFromMs: 1, exclusiveUntilMs: 2 }
    for (const [shape, exclusiveAfter, used] of cases) {
      const isByTime = shape.order === "due" || shape.order === "end" || shape.order === "word"
      for (const bounds of isByTime ? [{}, times] : [{}]) {
        for (const isDescending of [false, true]) {
          const scan: Scan = { namespace: "shop", limit: 1, isDescending, ...shape, ...bounds }
          for (const levels of allLevels) {
            expectIndexed(scanSql(scan, levels).text, used)
            expectIndexed(countSql(scan, levels).text, used)
            expectIndexed(scanSql({ ...scan, withDetails: true }, levels).text, used)
            expect(planOf(scanSql({ ...scan, exclusiveAfter }, levels).text).join()).not.toContain(
              "TEMP B-TREE",
            )
          }
        }
      }
    }
  })
})
