// `punctual doctor`: what it counts, what it calls a problem, and what is only a remark.
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { SQL } from "bun"
import { Effect, Layer } from "effect"
import { diagnose } from "../../../src/cli/store/diagnosis.ts"
import { emptyTally, type Tally } from "../../../src/domain/Decision.ts"
import { SettingsRecords, serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import type { ShardRows, StoreReport } from "../../../src/ports/StoreReport.ts"
import { beforeLevel0 } from "../../../testkit/beforeLevel0.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { outcomeOf, putOf, sampleSpec, sampleTimer } from "../../../testkit/timers.ts"
import { damage, fill, runKeeping, runKeepingWith, storeAt, within } from "./KeptStoreRig.ts"

// Threads start slowly while other tests use the machine.
setDefaultTimeout(30_000)

const webhook = { type: "webhook", method: "POST", timeoutMs: 15_000, body: "envelope" } as const

const examined = (url: string, ...args: ReadonlyArray<string>) =>
  runKeeping("doctor", "--store", url, ...args)

const asJson = async (url: string, ...args: ReadonlyArray<string>) => {
  const { exitCode, out, err } = await examined(url, "--json", ...args)
  return { exitCode, err, found: JSON.parse(out) as Found }
}

interface Found {
  readonly isWell: boolean
  readonly problems: ReadonlyArray<string>
  readonly remarks: ReadonlyArray<string>
  readonly counts: ShardRows
  readonly overdue: { readonly count: number; readonly worst: ReadonlyArray<Record<string, unknown>> }
  readonly deadByNamespace: ReadonlyArray<{ readonly namespace: string; readonly count: number }>
  readonly schema: { readonly version: number; readonly ofProgram: number }
  readonly sizes: Readonly<Record<string, number>>
  readonly shards: ReadonlyArray<{ readonly rows: ShardRows }>
  readonly clockOffsetMs?: number
}

interface StoreUnderTest {
  /** A place for a new store. */
  readonly url: () => string
  /** Changes the rows without the store. */
  readonly edit: (url: string, sql: string) => Promise<void>
  readonly tallyTable: string
  readonly deadTable: string
  /** A uuid that no key has, as SQL. */
  readonly otherUuid: string
  /** Cuts the spec of a pending timer. */
  readonly damagedSpec: (timerId: string) => string
}

const lawsOfDoctor = (store: StoreUnderTest): void => {
  const { url: fresh, edit, tallyTable, deadTable, otherUuid, damagedSpec } = store
  test("counts all rows by shard, and names overdue timers and dead letters", async () => {
    const url = fresh()
    await fill(url, 30)
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.isWell, found.problems]).toEqual([0, true, []])
    expect(found.counts).toEqual({ pending: 30, delivered: 1, cancelled: 1, dead: 1 })
    expect(found.shards.reduce((sum, { rows }) => sum + rows.pending, 0)).toBe(30)
    expect(found.shards.reduce((sum, { rows }) => sum + rows.delivered, 0)).toBe(1)
    expect(found.overdue).toMatchObject({
      count: 1,
      worst: [{ namespace: "shop", timerId: "t-0", attempts: 0 }],
    })
    expect(found.deadByNamespace).toEqual([{ namespace: "shop", count: 1 }])
    expect(found.schema.version).toBe(found.schema.ofProgram)
    expect(Object.values(found.sizes).every((bytes) => bytes >= 0)).toBe(true)
    const { out } = await examined(url)
    expect(out).toContain("The store has no problems.")
    expect(out).toMatch(/Overdue: 1\. The worst:\nNAMESPACE .*\nshop +t-0 .* 1 d/)
  })

  test("shows the worst first, with the result of the last attempt", async () => {
    const url = fresh()
    const { pending } = await fill(url, 2)
    const [overdue] = pending
    if (overdue === undefined) throw new Error("there are two")
    await within(
      url,
      Effect.gen(function* () {
        const { write } = yield* owned
        const attemptLog = [
          { at: overdue.fireAt, durationMs: 5, error: "refused\u001b[31m", answer: "private" },
        ]
        yield* write([outcomeOf(overdue, { to: "retry", fireAt: overdue.fireAt + 1 }, { attemptLog })])
      }),
    )
    const { found } = await asJson(url)
    expect(found.overdue.worst).toMatchObject([{ attempts: 1, lastAttempt: { error: "refused\u001b[31m" } }])
    expect(JSON.stringify(found)).not.toContain("private")
    expect((await examined(url)).out).toContain("refused\\u001b[31m")
  })

  test("names the targets of pending timers that the egress rules do not allow, without their paths", async () => {
    const url = fresh()
    await within(
      url,
      Effect.gen(function* () {
        const { write } = yield* owned
        const to = (timerId: string, target: string) =>
          putOf(
            sampleTimer({
              timerId,
              executeAt: Date.now() + 60_000,
              spec: { ...sampleSpec, target: { ...webhook, url: target } },
            }),
          )
        yield* write([
          to("a", "http://10.0.0.1:9000/hidden?token=hidden"),
          to("b", "http://10.0.0.1:9000/other"),
          to("c", "http://localhost/"),
          to("d", "http://192.0.2.7/allowed"),
        ])
      }),
    )
    const remarksBy = async (egress: string) => {
      const { exitCode, out } = await runKeepingWith(
        { TIMER_EGRESS: egress },
        "doctor",
        "--store",
        url,
        "--json",
      )
      expect(exitCode).toBe(0)
      expect(out).not.toContain("hidden")
      return (JSON.parse(out) as Found).remarks.filter((remark) => remark.includes("TIMER_EGRESS"))
    }
    const [remark, ...others] = await remarksBy("public,192.0.2.0/24")
    expect(others).toEqual([])
    expect(remark).toStartWith(
      "3 pending timers have targets that TIMER_EGRESS does not allow (this command uses TIMER_EGRESS=public,192.0.2.0/24): http://10.0.0.1:9000 (2), http://localhost (1).",
    )
    expect(await remarksBy("open")).toEqual([])
    expect(await remarksBy("private,loopback,192.0.2.7")).toEqual([])
    expect(await remarksBy("privat")).toEqual([
      expect.stringMatching(/^TIMER_EGRESS: "privat" is not a keyword .* did not check the targets/s),
    ])
  })

  test("works while a service runs, and changes nothing", async () => {
    const url = fresh()
    await fill(url, 3)
    const beside = await Effect.runPromise(
      Effect.gen(function* () {
        yield* Layer.build(storeAt(url))
        return yield* Effect.promise(() => asJson(url))
      }).pipe(Effect.scoped),
    )
    expect([beside.exitCode, beside.found.counts.pending]).toEqual([0, 3])
  })

  test("reports a tally that does not match its rows, and names the shard", async () => {
    const url = fresh()
    await fill(url, 12)
    await edit(url, `UPDATE ${tallyTable} SET created = created + 1 WHERE shard = 2`)
    const { exitCode, found, err } = await asJson(url)
    expect([exitCode, found.isWell]).toEqual([1, false])
    expect(found.problems).toEqual([
      expect.stringMatching(/^Shard 2 has \d+ pending timers, but its tally says \d+\.$/),
    ])
    expect(err).toContain("something is wrong with the store")
    expect((await examined(url)).out).toContain("The store has problems.")
  })

  test("reports timers that are missing although nothing ended them", async () => {
    const url = fresh()
    await fill(url, 12)
    await edit(url, "DELETE FROM timers WHERE timer_id = 't-5'")
    expect((await asJson(url)).exitCode).toBe(1)
  })

  test("names all that is due while nothing fires, also what has just fallen due", async () => {
    const url = fresh()
    const { pending } = await fill(url, 2)
    // The second of them is due a moment ago.
    expect(pending[1]?.fireAt).toBeLessThanOrEqual(Date.now())
    const grace = await asJson(url)
    expect(grace.found.overdue).toMatchObject({ count: 1, worst: [{ timerId: "t-0" }] })
    expect(grace.found.remarks).toContainEqual(expect.stringContaining("1 timer is overdue by more than 1m:"))
    await within(
      url,
      Effect.flatMap(SettingsRecords.make, (namespaces) =>
        namespaces.put({
          namespace: serviceRecord,
          version: 0,
          updatedAt: 1,
          settings: { pause: { kind: "restored", sinceMs: 0 } },
        }),
      ),
    )
    const { found } = await asJson(url)
    expect(found.overdue).toMatchObject({ count: 2, worst: [{ timerId: "t-0" }, { timerId: "t-1" }] })
    expect(found.remarks).toContainEqual("2 timers are overdue, because firing is paused.")
  })

  test("calls it wrong when a row has the uuid of another key, and names the row", async () => {
    const url = fresh()
    await fill(url, 2)
    await edit(url, `UPDATE timers SET uuid = ${otherUuid} WHERE timer_id = 't-1'`)
    await edit(url, `UPDATE history SET uuid = ${otherUuid} WHERE timer_id = 'cancelled'`)
    const { exitCode, found } = await asJson(url)
    expect(exitCode).toBe(1)
    const damaged = (what: string, name: string) =>
      `The store is damaged: these ${what} have a uuid that does not belong to their key: shop/${name}.`
    expect(found.problems).toContain(damaged("timers", "t-1"))
    expect(found.problems).toContain(damaged("lives", "cancelled"))
  })

  test("sees words that belong to no timer", async () => {
    const url = fresh()
    await fill(url, 3)
    for (const state of ["pending", "dead"]) {
      await edit(
        url,
        `INSERT INTO lookups (namespace, word, state, at, fire_id, timer_id, revision) VALUES ('shop', 't:a', '${state}', 1, ${otherUuid}, 'none', 1)`,
      )
    }
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.problems]).toEqual([
      1,
      [
        "The store is damaged: 1 word belongs to no pending timer.",
        "The store is damaged: 1 word belongs to no dead timer.",
      ],
    ])
  })

  test("only remarks that a store is paused", async () => {
    const url = fresh()
    await fill(url, 1)
    await within(
      url,
      Effect.flatMap(SettingsRecords.make, (namespaces) =>
        namespaces.put({
          namespace: serviceRecord,
          version: 0,
          updatedAt: 1,
          settings: { pause: { kind: "asked", sinceMs: 0, reason: "the ledger moves" } },
        }),
      ),
    )
    const { exitCode, found } = await asJson(url)
    expect(exitCode).toBe(0)
    expect(found.remarks).toContainEqual(
      expect.stringContaining("paused since 1970-01-01T00:00:00.000Z (the ledger moves)"),
    )
  })

  test("reports and names settings that cannot be read, whether they are invalid JSON or invalid settings", async () => {
    const url = fresh()
    await fill(url, 1)
    await within(
      url,
      Effect.flatMap(SettingsRecords.make, (settings) =>
        Effect.forEach(["broken", "odd", "sound"], (namespace) =>
          settings.put({ namespace, version: 0, updatedAt: 1, settings: { maxPending: 1 } }),
        ),
      ),
    )
    await edit(url, `UPDATE documents SET json = '{"maxPen' WHERE id = 'broken'`)
    await edit(url, `UPDATE documents SET json = '{"maxPending":"many"}' WHERE id = 'odd'`)
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.problems]).toEqual([
      1,
      [expect.stringContaining("The settings of broken, odd cannot be read")],
    ])
  })

  test("decodes every timer and every life, and names those that cannot be read", async () => {
    const url = fresh()
    await fill(url, 14)
    for (let timer = 0; timer < 12; timer++) await edit(url, damagedSpec(`t-${timer}`))
    await edit(url, `UPDATE history SET spec = '{"target":{"type":"fax"}}' WHERE timer_id = 'cancelled'`)
    await edit(url, `UPDATE ${deadTable} SET last_attempt = '{"at":"soon"}' WHERE timer_id = 'dead'`)
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.problems]).toEqual([
      1,
      [
        expect.stringMatching(
          /^12 pending timers cannot be read: shop\/t-0 \(its spec is not JSON\), .*, and 2 more\./,
        ),
        expect.stringMatching(
          /^2 finished timers .* shop\/cancelled \(its spec has another shape\), shop\/dead \(its attempt log has another shape\)\./,
        ),
      ],
    ])
    expect(found.counts).toEqual({ pending: 14, delivered: 1, cancelled: 1, dead: 1 })
  })

  test("shows an overdue timer whose attempts cannot be read without its attempts", async () => {
    const url = fresh()
    await fill(url, 1)
    await edit(url, "UPDATE timers SET last_attempt = '[' WHERE timer_id = 't-0'")
    const { found } = await asJson(url)
    expect(found.overdue.worst).toEqual([expect.not.objectContaining({ lastAttempt: expect.anything() })])
  })
}

describe("punctual doctor on SQLite", () => {
  const folder = new TemporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  let files = 0
  const fresh = () => `sqlite:${join(folder.path, `${++files}.db`)}`
  const pathOf = (url: string) => url.slice("sqlite:".length)
  lawsOfDoctor({
    url: fresh,
    tallyTable: "tally",
    deadTable: "dead",
    otherUuid: "zeroblob(16)",
    damagedSpec: (timerId) =>
      `UPDATE bodies SET spec = substr(spec, 2) WHERE id = (SELECT id FROM timers WHERE timer_id = '${timerId}')`,
    edit: async (url, sql) => {
      const database = new Database(pathOf(url))
      database.run(sql)
      database.close()
    },
  })

  test("creates no file where there is none", async () => {
    const url = fresh()
    const { exitCode, err } = await examined(url)
    expect([exitCode, err]).toEqual([1, expect.stringContaining("There is no store at")])
    expect(err).toContain("--store or TIMER_STORE_URL")
    expect(await Bun.file(pathOf(url)).exists()).toBe(false)
  })

  test("reports a damaged file, and counts what can be read", async () => {
    const url = fresh()
    await fill(url, 5)
    damage(pathOf(url))
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.counts.pending]).toEqual([1, 5])
    expect(found.problems).toContainEqual(expect.stringContaining("The store is damaged"))
  })

  test("reports a file that cannot be read at all in one sentence", async () => {
    const url = fresh()
    writeFileSync(pathOf(url), "no database".repeat(1_000))
    const { exitCode, err } = await examined(url)
    expect([exitCode, err]).toEqual([1, expect.stringContaining("is not an SQLite database")])
  })

  test("finds a missing body, which the structure of the file does not show", async () => {
    const url = fresh()
    await fill(url, 3)
    const database = new Database(pathOf(url))
    database.run("DELETE FROM bodies WHERE id = (SELECT min(id) FROM bodies)")
    database.close()
    const { exitCode, found } = await asJson(url, "--full")
    expect([exitCode, found.problems]).toEqual([
      1,
      [expect.stringContaining("1 pending timer cannot be read: shop/t-0 (its body is missing).")],
    ])
  })

  test("finds a body that belongs to no timer", async () => {
    const url = fresh()
    await fill(url, 3)
    const database = new Database(pathOf(url))
    database.run("INSERT INTO bodies (spec) VALUES ('{}')")
    database.close()
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.problems]).toEqual([
      1,
      ["The store is damaged: 1 body belongs to no pending timer."],
    ])
  })

  test("reads an older schema, and says so", async () => {
    const url = fresh()
    await fill(url, 3)
    const database = new Database(pathOf(url))
    beforeLevel0(database)
    database.run("DROP TABLE documents")
    database.run("DROP TABLE documents_version")
    database.run("DROP TABLE lookups")
    for (const table of ["timers", "history", "dead"]) {
      for (const column of ["tags", "traceparent"]) database.run(`ALTER TABLE ${table} DROP COLUMN ${column}`)
    }
    database.run("ALTER TABLE history DROP COLUMN reason")
    database.run("PRAGMA user_version = 2")
    database.close()
    const { exitCode, found } = await asJson(url)
    expect([exitCode, found.remarks[0]]).toEqual([0, expect.stringContaining("The schema has version 2")])
  })
})

describePostgres("installed", "punctual doctor on PostgreSQL", () => {
  const server = serverForTests("installed", { isFsyncOn: true })
  lawsOfDoctor({
    url: () => server().database().url,
    tallyTable: "shards",
    deadTable: "history",
    otherUuid: "'00000000-0000-0000-0000-000000000000'",
    damagedSpec: (timerId) => `UPDATE timers SET spec = substr(spec, 2) WHERE timer_id = '${timerId}'`,
    edit: async (url, text) => {
      const schema = new URL(url).searchParams.get("schema")
      await using sql = new SQL({ url: server().url, max: 1 })
      await sql.unsafe(`SET search_path TO ${schema}`)
      await sql.unsafe(text)
    },
  })

  test("creates no schema where there is none", async () => {
    const { exitCode, err } = await examined(server().database().url)
    expect([exitCode, err]).toEqual([1, expect.stringContaining("There is no store in")])
  })

  test("compares this machine's clock with the database's", async () => {
    const { url } = server().database()
    await fill(url, 1)
    expect(Math.abs((await asJson(url)).found.clockOffsetMs ?? Number.NaN)).toBeLessThan(1_000)
  })
})

describe("problems and remarks", () => {
  const report = (
    tally: Partial<Tally>,
    rows: Partial<ShardRows>,
    more: Partial<StoreReport> = {},
  ): StoreReport => ({
    store: "sqlite",
    schemaVersion: 1,
    programVersion: 1,
    shards: [
      {
        shard: 0,
        epoch: 1,
        tally: { ...emptyTally, ...tally },
        rows: { pending: 0, delivered: 0, cancelled: 0, dead: 0, ...rows },
      },
    ],
    sizes: [],
    overdue: { count: 0, worst: [] },
    deadByNamespace: [],
    integrity: "quick",
    faults: [],
    targets: [],
    unreadable: [],
    ...more,
  })

  test("every arming that began is pending or has ended", () => {
    const tally = {
      created: 9,
      rearmed: 2,
      replayed: 1,
      delivered: 4,
      cancelled: 1,
      replaced: 2,
      dead: 2,
      discarded: 1,
    }
    const rows = { pending: 2, delivered: 4, cancelled: 1, dead: 1 }
    expect(diagnose(report(tally, rows)).problems).toEqual([])
    expect(diagnose(report(tally, { ...rows, dead: 2 })).problems).toHaveLength(1)
    expect(diagnose(report(tally, { ...rows, pending: 3 })).problems).toHaveLength(1)
    for (const name of Object.keys(tally) as ReadonlyArray<keyof Tally>) {
      expect(
        diagnose(report({ ...tally, [name]: tally[name as keyof typeof tally] + 1 }, rows)).problems,
      ).not.toEqual([])
    }
  })

  test("pruned history is not missing, and more rows than the tally has are a problem", () => {
    const tally = { created: 5, delivered: 3, cancelled: 2 }
    expect(diagnose(report(tally, {})).problems).toEqual([])
    expect(diagnose(report(tally, { delivered: 4 })).problems).toHaveLength(1)
    expect(diagnose(report(tally, { cancelled: 3 })).problems).toHaveLength(1)
  })

  test("clocks that differ by more than a second cause a remark", () => {
    expect(diagnose(report({}, {}, { clockOffsetMs: 900 })).remarks).toEqual([])
    expect(diagnose(report({}, {}, { clockOffsetMs: -1_900 })).remarks).toEqual([
      expect.stringContaining("1.9 s behind the clock of the database"),
    ])
  })
})
