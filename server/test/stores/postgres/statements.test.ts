// The query planner's plan of every hot statement. Each uses its intended index, and none scans a table. This holds for
// empty tables, when the kept plans are made, and for full ones.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { documentSql } from "@punctual/documents/postgres/postgresDocuments"
import { type Effect, ManagedRuntime } from "effect"
import type { Scan, SortKey } from "../../../src/ports/ShardStorage.ts"
import { connectionTo } from "../../../src/stores/postgres/connectionTo.ts"
import { lookSql } from "../../../src/stores/postgres/looks.ts"
import { namespaceNamesSql } from "../../../src/stores/postgres/namespaceNames.ts"
import { openDatabase } from "../../../src/stores/postgres/openDatabase.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { countGroups, scanGroups, scanSql } from "../../../src/stores/postgres/scans.ts"
import { leaseSql, pruneSql, readerSql } from "../../../src/stores/postgres/statements.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { describePostgres, type PostgresKind } from "../../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../testkit/PostgresServer.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  outcomeOf,
  putOf,
  replayOf,
  sampleNow,
  samplePut,
  scheduleOf,
} from "../../../testkit/timers.ts"

/** Logs the plan of every statement, also inside functions. */
const explaining = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
}

const rowsWhenFull = 30_000

test("a statement over several lanes sorts the rows of each lane by their place", () => {
  const cases: ReadonlyArray<readonly [Pick<Scan, "order"> & Partial<Scan>, string]> = [
    [{ order: "due" }, "p.at_ms ASC, p.fire_id ASC"],
    [{ order: "pendingId", isDescending: true }, "p.timer_id DESC"],
    [{ order: "end", state: "dead", isDescending: true }, "p.at_ms DESC, p.entry DESC"],
    [{ order: "finishedId", state: "dead" }, "p.timer_id ASC, p.revision ASC"],
    [{ order: "word", word: "t:a" }, "p.at_ms ASC, p.fire_id ASC"],
  ]
  for (const [shape, order] of cases) {
    const scan: Scan = { namespace: "shop", limit: 10, isDescending: false, ...shape }
    const [group] = scanGroups([scan, { ...scan, namespace: "other" }])
    expect(group?.text).toEndWith(`ORDER BY lane.n, ${order}`)
  }
})

for (const kind of ["installed", "packaged"] satisfies ReadonlyArray<PostgresKind>) {
  describePostgres(kind, `plans of the ${kind} server`, () => {
    let server: PostgresServer
    let schema: string
    let sql: Bun.SQL
    let runtime: ManagedRuntime.ManagedRuntime<Effect.Services<typeof owned>, unknown>
    let store: Effect.Success<typeof owned>["store"]
    let batchOf: Effect.Success<typeof owned>["batchOf"]

    beforeAll(async () => {
      server = await PostgresServer.start(kind, { settings: explaining })
      const database = server.database()
      schema = database.schema
      runtime = ManagedRuntime.make(PostgresStore.layer({ url: database.url, shards: 1, connections: 4 }))
      const mine = await runtime.runPromise(owned)
      store = mine.store
      batchOf = mine.batchOf
      sql = connectionTo((await openDatabase(database.url, 1)).place)
    })
    afterAll(async () => {
      await sql.close()
      await runtime.dispose()
      await server[Symbol.asyncDispose]()
    })

    let statements = 0
    /** The generic plan, which does not depend on the values. */
    const planOf = async (text: string): Promise<string> => {
      const name = `explained_${++statements}`
      const parameters = new Set(text.match(/\$\d+/g)).size
      await sql.unsafe(`PREPARE ${name} AS ${text}`).simple()
      const values =
        parameters === 0 ? "" : `(${Array.from({ length: parameters }, () => "NULL").join(", ")})`
      const rows: ReadonlyArray<{ "QUERY PLAN": string }> = await sql
        .unsafe(`EXPLAIN (COSTS OFF) EXECUTE ${name}${values}`)
        .simple()
      return rows.map((row) => row["QUERY PLAN"].trim()).join("\n")
    }

    const expectIndexed = async (text: string, ...used: ReadonlyArray<string>): Promise<void> => {
      const plan = await planOf(text)
      for (const step of used) expect(plan).toContain(step)
      expect(plan).not.toMatch(/Seq Scan on (timers|history)|Hash Join|Merge Join/)
      // Only the rows of finished pages may be sorted, after the number of their lane.
      expect(plan).not.toMatch(/Sort Key: (?!lane\.n, ).*(finished_at|timer_id)/)
    }

    /** Goes from name to name with one look at each index. The steps of a recursion show only when it runs. */
    const expectNamesByIndex = async (): Promise<void> => {
      const name = `explained_${++statements}`
      await sql.unsafe(`PREPARE ${name} AS ${namespaceNamesSql}`).simple()
      const rows: ReadonlyArray<{ "QUERY PLAN": string }> = await sql
        .unsafe(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE ${name}('', 100)`)
        .simple()
      const plan = rows.map((row) => row["QUERY PLAN"].trim()).join("\n")
      expect(plan).toContain("Index Only Scan using timers_pkey on timers")
      expect(plan).toMatch(/Index Only Scan using history_(by_key|pkey) on history/)
      expect(plan.match(/Index Cond: \(namespace > CASE/g)).toHaveLength(2)
      expect(plan).not.toMatch(/Seq Scan on (timers|history)|Filter: \(namespace > CASE/)
    }

    /** The plans of the statements that the functions of the schema run during the work. */
    const plansDuring = async (work: () => Promise<unknown>): Promise<string> => {
      // The server keeps only its last lines, so positions among them change. The test begins with none.
      server.logs.splice(0)
      await work()
      const marker = `marker_${++statements}`
      await sql.unsafe(`SELECT 1 AS ${marker}`)
      await eventually("the plans are logged", () =>
        server.logs.some((line) => line.includes(marker)) ? true : undefined,
      )
      return server.logs.join("\n")
    }

    const writes = async () => {
      const puts = Array.from({ length: 5 }, (_, index) =>
        samplePut({ timerId: `planned-${index}-${++statements}`, fireAt: sampleNow + index }),
      )
      const [first, second, third, fourth, fifth] = puts.map(({ timer }) => timer)
      if (!first || !second || !third || !fourth || !fifth) throw new Error("unreachable")
      const { fireAt: _, updatedAt: __, ...life } = fifth
      const write = (items: Parameters<typeof store.write>[0][number]["items"]) =>
        runtime.runPromise(store.write([batchOf(0, items)]))
      await write(puts)
      await write([
        outcomeOf(first, delivered),
        outcomeOf(second, { to: "retry", fireAt: sampleNow + 99 }),
        cancelOf(third),
        changeOf(fourth, { executeAt: sampleNow + 77 }),
        { kind: "record", life: { ...life, state: "delivered", finishedAt: sampleNow } },
        scheduleOf(samplePut().timer),
      ])
      const [replayed, discarded] = [samplePut().timer, samplePut().timer]
      await write([putOf(replayed), putOf(discarded)])
      await write([replayed, discarded].map((timer) => outcomeOf(timer, { to: "dead", reason: "refused" })))
      await write([replayOf(replayed), discardOf(discarded)])
    }

    const everyPlan = async () => {
      for (const pages of [readerSql.due, readerSql.heads]) {
        await expectIndexed(pages.all, "Index Scan using timers_by_due")
        await expectIndexed(
          pages.only,
          "Index Only Scan using timers_by_namespace",
          "Index Scan using timers_by_due",
        )
        await expectIndexed(
          pages.except,
          "Index Only Scan using timers_by_due",
          "Index Scan using timers_by_due",
        )
      }
      await expectIndexed(
        lookSql,
        "Index Scan using timers_pkey on timers",
        "Index Scan Backward using history_by_key on history",
        "Index Scan using history_by_key on history",
      )
      await expectIndexed(
        pruneSql,
        "Index Scan using history_prunable on history",
        "Tid Scan on history",
        "Index Scan using lookups_prunable on lookups",
        "Tid Scan on lookups",
      )
      await expectNamesByIndex()
      await expectIndexed(documentSql.get, "Index Scan using documents_pkey on documents")
      await expectIndexed(documentSql.list, "Index Scan using documents_pkey on documents")
      await expectIndexed(documentSql.changes, "Index Scan using documents_by_version on documents")
      await expectIndexed(documentSql.replace, "Index Scan using documents_by_version on documents")
      await expectIndexed(documentSql.clear, "Index Scan using documents_removed on documents")
      await expectIndexed(leaseSql.renew, "using leases_pkey on leases", "using shards_pkey on shards")
      const plans = await plansDuring(writes)
      expect(plans).toContain("using timers_pkey on timers t")
      expect(plans).toContain("using shards_pkey on shards s")
      expect(plans).toContain("using lookups_pkey on lookups l")
      expect(plans).toContain("Index Scan Backward using history_by_key on history h")
      expect(plans).toContain("Index Scan using history_by_key on history h")
      expect(plans).toContain("Index Only Scan using history_by_key on history h")
      expect(plans).not.toMatch(
        /Seq Scan on (timers|history|shards|lookups)|(timers_by_namespace|timers_by_due|history_pkey) on/,
      )
    }

    const everyWalk = async () => {
      const ids = { inclusiveFromId: "a", exclusiveUntilId: "b" }
      const cases: ReadonlyArray<readonly [Pick<Scan, "order"> & Partial<Scan>, SortKey, string]> = [
        [{ order: "due" }, [1, "0"], "timers_by_namespace on timers"],
        [{ order: "due", namespace: 3 }, [1, "0"], "timers_by_due on timers"],
        [{ order: "pendingId", ...ids }, ["a"], "timers_pkey on timers"],
        [{ order: "pendingId", timerId: "a" }, ["a"], "timers_pkey on timers"],
        [{ order: "end", state: "delivered" }, [1, 1], "history_pkey on history"],
        [{ order: "end", state: "dead" }, [1, 1], "history_pkey on history"],
        [{ order: "finishedId", state: "dead", ...ids }, ["a", 1], "history_by_key on history"],
        [{ order: "finishedId", state: "dead", timerId: "a" }, ["a", 1], "history_by_key on history"],
        [{ order: "word", word: "t:a" }, ["t:a", 1, "0"], "lookups_pkey on lookups"],
        [{ order: "word", word: "t:a", state: "delivered" }, ["t:a", 1, "0"], "lookups_pkey on lookups"],
      ]
      const times = { inclusiveFromMs: 1, exclusiveUntilMs: 2 }
      for (const [shape, exclusiveAfter, used] of cases) {
        const isByTime = shape.order === "due" || shape.order === "end" || shape.order === "word"
        for (const bounds of isByTime ? [{}, times] : [{}]) {
          for (const isDescending of [false, true]) {
            const scan: Scan = { namespace: "shop", limit: 10, isDescending, ...shape, ...bounds }
            await expectIndexed(scanSql(scan).text, used)
            await expectIndexed(scanSql({ ...scan, exclusiveAfter }).text, used)
            await expectIndexed(scanSql({ ...scan, withDetails: true }).text, used)
            const other = { ...scan, namespace: typeof scan.namespace === "number" ? 4 : "other" }
            for (const { text } of [...scanGroups([scan, other]), ...countGroups([scan, other])])
              await expectIndexed(text, used)
          }
        }
      }
    }

    describe("of empty tables", () => {
      test("use the intended index, also in functions", everyPlan)
      test("scan and count along an index", everyWalk)
    })

    describe("of full tables", () => {
      test("are the same before and after the database knows their contents", async () => {
        // Two namespaces over many shards. By their statistics, the wrong index looks better for due reads of one
        // namespace.
        await sql.unsafe(`INSERT INTO timers SELECT i, i, i, i, i, NULL, NULL, i % 16, 0, gen_random_uuid(),
          gen_random_uuid(), CASE i % 2 WHEN 0 THEN 'shop' ELSE 'other' END, 'filled-' || i, 'c', NULL, '{}', NULL
          FROM generate_series(1, ${rowsWhenFull}) AS i`)
        await sql.unsafe(`INSERT INTO history (finished_at, execute_at, revision, created_at, attempts, uuid, fire_id,
          namespace, timer_id, state, correlation_id, spec) SELECT i, i, i, i, 1, gen_random_uuid(), gen_random_uuid(),
          'shop', 'ended-' || i, 'delivered', 'c', '{}' FROM generate_series(1, ${rowsWhenFull}) AS i`)
        await everyPlan()
        await sql.unsafe(`ANALYZE ${schema}.timers, ${schema}.history`)
        await everyPlan()
        await everyWalk()
      }, 20_000)
    })
  })
}
