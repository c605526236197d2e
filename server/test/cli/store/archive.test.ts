// `punctual export` and `punctual import`, from one store into another, and their errors.
import { describe, expect, test } from "bun:test"
import { Documents } from "@punctual/documents/Documents"
import { Context, Effect } from "effect"
import type { ImportTarget } from "../../../src/cli/store/importArchive.ts"
import type { LineSource } from "../../../src/cli/store/LineSource.ts"
import { shardOf } from "../../../src/domain/TimerKey.ts"
import { type ArchivedItem, keyOfArchived } from "../../../src/domain/WriteItem.ts"
import {
  SettingsRecords,
  serviceRecord,
  settingsKind,
} from "../../../src/engine/namespaces/SettingsRecords.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import { setIn, settingsIn } from "../../../testkit/memorySettings.ts"
import { sampleTimer } from "../../../testkit/timers.ts"
import { run } from "../CommandFixture.ts"

const exported = (database: MemoryDatabase) =>
  run(["export"], { parts: { openArchive: () => Effect.sync(() => MemoryStore.archive(database)) } })

const targetOf = (database: MemoryDatabase): ImportTarget => {
  const services = Effect.runSync(
    Effect.provide(Effect.context<ShardLeases | Documents | TimerStore>(), MemoryStore.over(database)),
  )
  return {
    leases: Context.get(services, ShardLeases),
    namespaces: new SettingsRecords(Context.get(services, Documents)),
    store: Context.get(services, TimerStore),
    node: "import",
  }
}

/** Pieces that break lines anywhere. */
const given = (text: string, more: Partial<LineSource> = {}): LineSource => {
  const bytes = new TextEncoder().encode(text)
  async function* pieces() {
    for (let at = 0; at < bytes.byteLength; at += 1_000) yield bytes.subarray(at, at + 1_000)
  }
  return { isTerminal: false, chunks: pieces(), ...more }
}

const imported = (target: ImportTarget, source: LineSource, ...args: ReadonlyArray<string>) =>
  run(["import", ...args], {
    parts: { openImportTarget: () => Effect.succeed(target), archiveLines: () => source },
  })

const put = (database: MemoryDatabase, item: ArchivedItem) =>
  applyTo(database, shardOf(keyOfArchived(item).uuid, database.shards.length), {
    kind: "restore",
    archived: item,
  })

const pending = (given: Parameters<typeof sampleTimer>[0] = {}): ArchivedItem => ({
  kind: "pending",
  timer: sampleTimer(given),
})

const filled = (timers: number): MemoryDatabase => {
  const database = makeMemoryDatabase({ shards: 4 })
  for (let index = 0; index < timers; index++) {
    put(database, pending({ timerId: `t-${index}`, payload: new TextEncoder().encode(`{"n":${index}}`) }))
  }
  const { fireAt: _, updatedAt: __, ...rest } = sampleTimer({ timerId: "ended" })
  put(database, { kind: "ended", life: { ...rest, state: "delivered", finishedAt: 9 } })
  put(database, {
    kind: "ended",
    life: { ...rest, fireId: crypto.randomUUID(), state: "dead", finishedAt: 9 },
  })
  return database
}

const sorted = (database: MemoryDatabase) =>
  [...database.contents()].sort((a, b) => (keyOfArchived(a).fireId < keyOfArchived(b).fireId ? -1 : 1))

describe("export and import", () => {
  test("copy everything from one store into another, in pages", async () => {
    const source = filled(1_234)
    const { exitCode, out, err } = await exported(source)
    expect([exitCode, err]).toEqual([
      0,
      "Exported 1,234 pending timers, 1 in the history, 1 dead letter, and 0 records of settings.\n",
    ])
    expect(out.trimEnd().split("\n")).toHaveLength(1_234 + 2 + 2)
    const database = makeMemoryDatabase({ shards: 3 })
    expect(await imported(targetOf(database), given(out))).toEqual({
      exitCode: 0,
      out: "",
      err: "Imported: 1,236. Already present: 0. Different in the store: 0. Cannot be stored: 0.\n",
    })
    expect(sorted(database)).toEqual(sorted(source))
    expect(database.shards.map(({ node }) => node)).toEqual([undefined, undefined, undefined])
  })

  test("report their progress", async () => {
    const source = filled(10_000)
    const { out, err } = await exported(source)
    expect(err).toContain("10,000 lines …\n")
    const { err: said } = await imported(targetOf(makeMemoryDatabase({ shards: 1 })), given(out))
    expect(said).toContain("10,000 lines …\n")
  })

  test("can be repeated with the same file", async () => {
    const { out } = await exported(filled(3))
    const database = makeMemoryDatabase({ shards: 2 })
    await imported(targetOf(database), given(out))
    const before = [sorted(database), database.tally]
    const again = await imported(targetOf(database), given(out))
    expect([again.exitCode, again.err]).toEqual([
      0,
      expect.stringContaining("Imported: 0. Already present: 5."),
    ])
    expect([sorted(database), database.tally]).toEqual(before)
  })

  test("copy settings, with secrets still sealed, and overwrite none", async () => {
    const source = filled(1)
    const settings = {
      webhookSecrets: [{ sealed: "v1.abc", fingerprint: "0123456789abcdef" }],
      maxPending: 5,
      pausedSinceMs: 7,
    }
    const set = (database: MemoryDatabase, namespace: string, given: object) =>
      setIn(database, namespace, given, 3)
    for (let index = 0; index < 250; index++) set(source, `n-${index}`, { maxPending: index })
    set(source, "shop", settings)
    set(source, serviceRecord, { pause: { sinceMs: 9, kind: "asked", reason: "moving" } })
    const { out, err } = await exported(source)
    expect(err).toContain("and 252 records of settings.")
    const database = makeMemoryDatabase({ shards: 3 })
    set(database, "n-1", { maxPending: 1_000 })
    const { exitCode, err: said } = await imported(targetOf(database), given(out))
    expect([exitCode, said]).toEqual([
      1,
      expect.stringContaining("the settings of n-1 differ from the settings in the store"),
    ])
    expect(said).toContain("Imported: 254. Already present: 0. Different in the store: 1.")
    expect(settingsIn(database, "shop")).toMatchObject({ settings, updatedAt: 3 })
    expect(settingsIn(database, "n-249").settings).toEqual({ maxPending: 249 })
    expect(settingsIn(database, "n-1").settings).toEqual({ maxPending: 1_000 })
    expect(settingsIn(database, serviceRecord).settings.pause?.reason).toBe("moving")
    const again = await imported(targetOf(database), given(out))
    expect(again.err).toContain("Imported: 0. Already present: 254. Different in the store: 1.")
  })

  test("an export names unreadable settings and leaves them out, and contains everything else", async () => {
    const source = filled(2)
    for (const name of ["a", "bad", "c"]) setIn(source, name, { maxPending: 1 }, 3)
    source.documents.damage(settingsKind, "bad", "{")
    const { exitCode, out, err } = await exported(source)
    expect([exitCode, err]).toEqual([1, expect.stringContaining("the settings of bad cannot be read")])
    const database = makeMemoryDatabase({ shards: 2 })
    expect((await imported(targetOf(database), given(out))).exitCode).toBe(0)
    expect(sorted(database)).toEqual(sorted(source))
    expect(["a", "bad", "c"].map((name) => settingsIn(database, name).version > 0)).toEqual([
      true,
      false,
      true,
    ])
  })

  test("an archive from before settings became documents can be imported", async () => {
    const lines = [
      { kind: "punctualArchive", version: 1 },
      { kind: "settings", namespace: "shop", updatedAt: 3, settings: { maxPending: 5 } },
      {
        kind: "settings",
        namespace: "_service",
        updatedAt: 4,
        settings: { pause: { sinceMs: 9, kind: "asked" } },
      },
      { kind: "end", items: 2 },
    ]
    const database = makeMemoryDatabase({ shards: 2 })
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
    expect((await imported(targetOf(database), given(text))).exitCode).toBe(0)
    expect(settingsIn(database, "shop")).toMatchObject({ settings: { maxPending: 5 }, updatedAt: 3 })
    expect(settingsIn(database, serviceRecord)).toMatchObject({
      settings: { pause: { sinceMs: 9 } },
      updatedAt: 4,
    })
  })

  test("of an empty store work, too", async () => {
    const { exitCode, out } = await exported(makeMemoryDatabase({ shards: 1 }))
    expect(exitCode).toBe(0)
    const { exitCode: imports } = await imported(targetOf(makeMemoryDatabase({ shards: 1 })), given(out))
    expect(imports).toBe(0)
  })
})

test("an import reports the result of the lines to programs", async () => {
  const from = makeMemoryDatabase({ shards: 2 })
  for (const timerId of ["a", "b"]) put(from, pending({ timerId }))
  const { out } = await exported(from)
  const into = makeMemoryDatabase({ shards: 4 })
  const counts = []
  for (const _ of [1, 2]) {
    const { exitCode, out: told } = await imported(targetOf(into), given(out), "--json")
    counts.push([exitCode, JSON.parse(told)])
  }
  const none = { restored: 0, present: 0, differs: 0, unstorable: 0, isWhole: true }
  expect(counts).toEqual([
    [0, { ...none, restored: 2 }],
    [0, { ...none, present: 2 }],
  ])
})

describe("export", () => {
  test("say why a store cannot be opened", async () => {
    const openArchive = () => Effect.fail({ message: "There is no store at x." })
    const { exitCode, out, err } = await run(["export"], { parts: { openArchive } })
    expect([exitCode, out, err]).toEqual([1, "", "punctual export: There is no store at x.\n"])
  })
})

describe("import", () => {
  test("names what differs, does not change it, and imports the rest", async () => {
    const { out } = await exported(filled(3))
    const database = makeMemoryDatabase({ shards: 2 })
    put(database, pending({ timerId: "t-1" }))
    const { exitCode, err } = await imported(targetOf(database), given(out))
    expect(exitCode).toBe(1)
    expect(err.split("\n").slice(0, 2)).toEqual([
      "shop/t-1 differs from the timer in the store",
      "Imported: 4. Already present: 0. Different in the store: 1. Cannot be stored: 0.",
    ])
  })

  test("leaves out a timer that takes the id of a call of onDead, and keeps real calls of onDead", async () => {
    const source = filled(1)
    const fireId = crypto.randomUUID()
    const { spec } = sampleTimer()
    const death = { timerId: "t", fireId, revision: 1, executeAt: 1, reason: "expired", attempts: 1 }
    put(source, pending({ timerId: "_dead.planted" }))
    put(source, pending({ timerId: `_dead.${crypto.randomUUID()}`, spec: { ...spec, death } }))
    put(source, pending({ timerId: `_dead.${fireId}`, spec: { ...spec, death } }))
    const database = makeMemoryDatabase({ shards: 2 })
    const { exitCode, err } = await imported(targetOf(database), given((await exported(source)).out))
    expect(exitCode).toBe(1)
    expect(err).toContain(
      "shop/_dead.planted cannot be stored: only calls of onDead have an id that begins with _dead.",
    )
    expect(err).toContain("Imported: 4. Already present: 0. Different in the store: 0. Cannot be stored: 2.")
    const ids = sorted(database).map((item) => keyOfArchived(item).timerId)
    expect(ids.filter((id) => id.startsWith("_dead."))).toEqual([`_dead.${fireId}`])
  })

  test("names the first few that differ, and counts all", async () => {
    const { out } = await exported(filled(25))
    const database = makeMemoryDatabase({ shards: 2 })
    for (let index = 0; index < 25; index++) put(database, pending({ timerId: `t-${index}` }))
    const { exitCode, err } = await imported(targetOf(database), given(out))
    expect(exitCode).toBe(1)
    expect(err.match(/differs from the timer in the store/g)).toHaveLength(20)
    expect(err).toContain("Imported: 2. Already present: 0. Different in the store: 25.")
  })

  test("does not begin with a truncated file", async () => {
    const { out } = await exported(filled(3))
    const cut = out.split("\n").slice(0, 3).join("\n")
    const database = makeMemoryDatabase({ shards: 1 })
    const lastLine = cut.split("\n")[2] ?? ""
    const { exitCode, err } = await imported(targetOf(database), given(cut, { lastLine }))
    expect([exitCode, err]).toEqual([1, expect.stringContaining("Nothing was imported.")])
    expect(database.contents()).toEqual([])
    const whole = given(out, { lastLine: '{"kind":"end","items":5}' })
    expect((await imported(targetOf(database), whole)).exitCode).toBe(0)
  })

  test("reports at the end of a pipe that the input was truncated, unless that is allowed", async () => {
    const { out } = await exported(filled(3))
    const cut = out.split("\n").slice(0, 3).join("\n")
    const database = makeMemoryDatabase({ shards: 1 })
    const { exitCode, err } = await imported(targetOf(database), given(cut))
    expect([exitCode, err]).toEqual([1, expect.stringContaining("of its first 2 lines stay")])
    expect(database.contents()).toHaveLength(2)
    expect((await imported(targetOf(database), given(cut), "--partial")).exitCode).toBe(0)
  })

  test("reports missing lines, names a wrong line by its number, and keeps the items before it", async () => {
    const { out } = await exported(filled(3))
    const lines = out.trimEnd().split("\n")
    const missing = lines.filter((_, index) => index !== 2).join("\n")
    const few = await imported(targetOf(makeMemoryDatabase({ shards: 1 })), given(missing))
    expect([few.exitCode, few.err]).toEqual([
      1,
      expect.stringContaining("has 4 items, but its last line says 5"),
    ])

    const database = makeMemoryDatabase({ shards: 1 })
    const spoilt = lines.map((line, index) => (index === 2 ? "{}" : line)).join("\n")
    const { exitCode, err } = await imported(targetOf(database), given(spoilt))
    expect([exitCode, err]).toEqual([1, expect.stringContaining("line 3 is wrong")])
    expect(database.contents()).toHaveLength(1)
    const more = await imported(targetOf(makeMemoryDatabase({ shards: 1 })), given(`${out}${out}`))
    expect(more.err).toContain("nothing may follow")
  })

  test("refuses a file that is not an archive", async () => {
    const never: ImportTarget = new Proxy({} as ImportTarget, {
      get: () => {
        throw new Error("the store was used")
      },
    })
    for (const text of ["", "hello\n", "{}\n"]) {
      expect((await imported(never, given(text))).exitCode).toBe(1)
    }
    expect((await imported(never, given("", { isTerminal: true }))).exitCode).toBe(2)
  })

  test("does not begin while a service runs on the store", async () => {
    const { out } = await exported(filled(1))
    const database = makeMemoryDatabase({ shards: 1 })
    const { leases, ...target } = targetOf(database)
    const live: ShardLeases["Service"] = {
      ...leases,
      owners: Effect.sync(() => {
        const state = database.shards[0]
        if (state !== undefined) Object.assign(state, { node: "node-1", counter: state.counter + 1 })
      }).pipe(Effect.andThen(leases.owners)),
    }
    const { exitCode, err } = await imported({ ...target, leases: live }, given(out))
    expect([exitCode, err]).toEqual([1, expect.stringContaining("node-1 runs on this store")])
    expect(database.contents()).toEqual([])
  })

  test("stops when a service takes over the store", async () => {
    const { out } = await exported(filled(1))
    const target = targetOf(makeMemoryDatabase({ shards: 1 }))
    const lost: ImportTarget = {
      ...target,
      store: {
        ...target.store,
        write: (batches) => Effect.succeed(batches.map(() => ({ result: "ownershipLost" }))),
      },
    }
    const { exitCode, err } = await imported(lost, given(out))
    expect([exitCode, err]).toEqual([1, expect.stringContaining("taken over the store")])
  })
})
