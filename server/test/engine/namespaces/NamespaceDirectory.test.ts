import { describe, expect, test } from "bun:test"
import { Documents, DocumentsError } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { editSettings, pauseService } from "../../../src/domain/editSettings.ts"
import type { NamespaceSettings } from "../../../src/domain/NamespaceSettings.ts"
import {
  type DirectoryOptions,
  NamespaceDirectory,
} from "../../../src/engine/namespaces/NamespaceDirectory.ts"
import { SecretSeal } from "../../../src/engine/namespaces/SecretSeal.ts"
import { serviceRecord, settingsKind } from "../../../src/engine/namespaces/SettingsRecords.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import { setIn, settingsIn } from "../../../testkit/memorySettings.ts"
import { cancelOf, putOf, samplePut, sampleTimer } from "../../../testkit/timers.ts"

interface Rig {
  readonly database: MemoryDatabase
  readonly logs: Array<string>
  /** The store does not answer this directory. */
  isAway: boolean
  /** The number of reads. */
  reads: number
  open(options?: DirectoryOptions): Effect.Effect<NamespaceDirectory["Service"], never, Scope.Scope>
  /** Writes as another node would. */
  write(namespace: string, settings: NamespaceSettings): void
}

const withStore = (body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): Promise<void> => {
  const database = makeMemoryDatabase({ shards: 1 })
  const logs: Array<string> = []
  const away = Effect.suspend(() => new DocumentsError({ message: "away", isFatal: false }))
  const rig: Rig = {
    database,
    logs,
    isAway: false,
    reads: 0,
    open: (options) =>
      Effect.gen(function* () {
        const services = yield* Layer.build(MemoryStore.over(database))
        const real = Context.get(services, Documents)
        const disturbed: Documents["Service"] = {
          ...real,
          changesAfter: (kind, version, limit) =>
            Effect.suspend(() => {
              rig.reads++
              return rig.isAway ? away : real.changesAfter(kind, version, limit)
            }),
        }
        const layer = Layer.provide(NamespaceDirectory.layer(options), [
          Layer.succeed(Documents, disturbed),
          Layer.succeed(TimerStore, Context.get(services, TimerStore)),
        ])
        return Context.get(yield* Layer.build(layer), NamespaceDirectory)
      }),
    write: (namespace, settings) => setIn(database, namespace, settings, 1),
  }
  const logger = Logger.make<unknown, void>(({ message }) => {
    logs.push(String(message))
  })
  return Effect.runPromise(
    body(rig).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.provide(Logger.layer([logger]))),
  )
}

describe("the directory of namespaces", () => {
  test("knows all stored settings when it starts, however many there are", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        for (let number = 0; number < 1_234; number++) rig.write(`n-${number}`, { maxPending: number })
        const directory = yield* rig.open()
        for (const number of [0, 499, 500, 1_233]) {
          expect(directory.of(`n-${number}`).settings).toEqual({ maxPending: number })
        }
        expect(directory.of("another")).toEqual({ settings: {}, isPaused: false, pauses: [], secrets: [] })
        expect(rig.reads).toBe(3)
      }),
    ))

  test("starts only when the store has answered", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        rig.isAway = true
        rig.write("shop", { maxPending: 1 })
        const opening = yield* Effect.forkChild(rig.open())
        yield* TestClock.adjust(10_000)
        expect(opening.pollUnsafe()).toBeUndefined()
        expect(rig.logs[0]).toContain("away")
        rig.isAway = false
        yield* TestClock.adjust(250)
        expect(opening.pollUnsafe()).toBeDefined()
      }),
    ))

  test("learns within a second what other nodes have changed, and tells its listeners", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        let told = 0
        directory.onChange(() => told++)
        yield* TestClock.adjust(3_000)
        expect(told).toBe(0)
        rig.write("shop", { maxPending: 1 })
        yield* TestClock.adjust(500)
        expect(directory.of("shop").settings).toEqual({ maxPending: 1 })
        expect(told).toBe(1)
        rig.write("shop", {})
        yield* TestClock.adjust(500)
        expect(directory.of("shop").settings).toEqual({})
      }),
    ))

  test("keeps what it knows while the store is unreachable, and catches up later", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        rig.write("shop", { pausedSinceMs: 5 })
        const directory = yield* rig.open()
        rig.isAway = true
        rig.write("shop", {})
        yield* TestClock.adjust(60_000)
        expect(directory.of("shop").isPaused).toBe(true)
        rig.isAway = false
        yield* TestClock.adjust(500)
        expect(directory.of("shop").isPaused).toBe(false)
      }),
    ))

  test("stores a change based on the current settings, and knows it at once", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        rig.write("shop", { maxPending: 1 })
        const stored = yield* directory.change("shop", 7, (settings) =>
          Effect.succeed({ ...settings, maxInFlight: 2 }),
        )
        expect(stored).toMatchObject({ settings: { maxPending: 1, maxInFlight: 2 }, updatedAt: 7 })
        expect(directory.of("shop").settings).toEqual({ maxPending: 1, maxInFlight: 2 })
        const unchanged = yield* directory.change("shop", 8, Effect.succeed)
        expect(unchanged.updatedAt).toBe(7)
      }),
    ))

  test("has a change in force when it answers, even if the store cannot be read by then", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        rig.write("other", { maxPending: 1 })
        rig.isAway = true
        const known: Array<boolean> = []
        directory.onChange(() => known.push(directory.of("shop").isPaused))
        yield* directory.change("shop", 7, () => Effect.succeed({ pausedSinceMs: 7 }))
        expect(known).toEqual([true])
        yield* directory.change(serviceRecord, 8, () =>
          Effect.succeed({ pause: { sinceMs: 8, kind: "asked" } }),
        )
        expect(directory.service().pause?.sinceMs).toBe(8)
        // Earlier changes of other nodes are not skipped.
        rig.isAway = false
        yield* TestClock.adjust(500)
        expect(directory.of("other").settings).toEqual({ maxPending: 1 })
      }),
    ))

  test("counts paused and sealed namespaces as they come and go", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        const counted = (settings: NamespaceSettings) => {
          rig.write("shop", settings)
          return Effect.map(TestClock.adjust(500), () => directory.counts())
        }
        const sealed = [new SecretSeal([new Uint8Array(32)]).seal("shop", new Uint8Array(24))]
        expect(yield* counted({ pausedSinceMs: 1 })).toEqual({ paused: 1, sealed: 0, unreadable: 0 })
        expect(yield* counted({ pausedSinceMs: 1, webhookSecrets: sealed })).toEqual({
          paused: 1,
          sealed: 1,
          unreadable: 0,
        })
        expect(yield* counted({ webhookSecrets: sealed })).toEqual({ paused: 0, sealed: 1, unreadable: 0 })
        expect(yield* counted({})).toEqual({ paused: 0, sealed: 0, unreadable: 0 })
      }),
    ))

  test("still learns of changes after one of its listeners breaks", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        directory.onChange(() => {
          if (directory.of("shop").settings.maxPending === 1) throw new Error("cannot count to one")
        })
        rig.write("shop", { maxPending: 1 })
        yield* TestClock.adjust(500)
        expect(rig.logs).toEqual([expect.stringContaining("cannot count to one")])
        rig.write("shop", { maxPending: 2 })
        yield* TestClock.adjust(500)
        expect(directory.of("shop").settings.maxPending).toBe(2)
      }),
    ))

  test("repeats a change when another came in between, and gives up after several", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const directory = yield* rig.open()
        let interferences = 3
        const change = directory.change("shop", 7, (settings) => {
          if (interferences-- > 0) rig.write("shop", { maxPending: interferences })
          return Effect.succeed({ ...settings, maxInFlight: 2 })
        })
        expect((yield* change).settings).toEqual({ maxPending: 0, maxInFlight: 2 })
        interferences = Number.POSITIVE_INFINITY
        expect(yield* Effect.flip(change)).toMatchObject({ _tag: "SettingsContended" })
      }),
    ))

  test("lists namespaces that have settings or timers, once each, in order", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        for (const namespace of ["a", "both", "_reserved"]) applyTo(rig.database, 0, samplePut({ namespace }))
        for (const name of ["Z", "both", serviceRecord, "_other", "c"]) rig.write(name, { maxPending: 1 })
        const directory = yield* rig.open()
        const names = ["Z", "a", "both", "c"]
        expect(yield* directory.names("", 10)).toEqual(names)
        for (const limit of [1, 2, 3, 4]) {
          expect(yield* directory.names("", limit)).toEqual(names.slice(0, limit))
        }
        expect(yield* directory.names("Z", 1)).toEqual(["a"])
        expect(yield* directory.names("a", 5)).toEqual(["both", "c"])
        expect(yield* directory.names("c", 5)).toEqual([])
      }),
    ))

  for (const [what, text] of [
    ["no JSON", '{"maxPen'],
    ["no settings", '{"maxPending":"many"}'],
  ] as const) {
    test(`a namespace whose settings are ${what} counts as paused, and all others are known`, () =>
      withStore((rig) =>
        Effect.gen(function* () {
          for (const name of ["before", "shop", "after"]) rig.write(name, { maxPending: 1 })
          rig.database.documents.damage(settingsKind, "shop", text)
          const directory = yield* rig.open()
          for (const name of ["before", "after"]) {
            expect(directory.of(name)).toMatchObject({ settings: { maxPending: 1 }, isPaused: false })
          }
          expect(directory.of("shop").isPaused).toBe(true)
          expect(directory.counts()).toEqual({ paused: 1, sealed: 0, unreadable: 1 })
          yield* TestClock.adjust(5_000)
          expect(rig.logs).toEqual([expect.stringContaining("the settings of shop cannot be read")])
          rig.write("later", { maxPending: 2 })
          yield* TestClock.adjust(500)
          expect(directory.of("later").settings).toEqual({ maxPending: 2 })
          expect(rig.logs).toHaveLength(1)
          // New settings replace them, and a resume ends the pause.
          const { settings } = yield* directory.change("shop", 9, (before) =>
            Effect.succeed(editSettings(before, { paused: false, maxPending: 3 }, 9)),
          )
          expect(settings).toMatchObject({ maxPending: 3 })
          expect(settingsIn(rig.database, "shop")).toMatchObject({ settings, updatedAt: 9 })
          expect(directory.of("shop").isPaused).toBe(false)
          expect(directory.counts()).toEqual({ paused: 0, sealed: 0, unreadable: 0 })
          expect(rig.logs.at(-1)).toBe("all settings can be read")
        }),
      ))
  }

  test("the service whose own settings cannot be read counts as not paused, and can be paused", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        setIn(rig.database, serviceRecord, { pause: { sinceMs: 1, kind: "asked" } }, 1)
        rig.database.documents.damage(settingsKind, serviceRecord, "")
        const directory = yield* rig.open()
        expect(directory.service()).toEqual({})
        expect(directory.counts().unreadable).toBe(1)
        expect(rig.logs).toEqual([
          expect.stringContaining("settings of the service as a whole cannot be read"),
        ])
        yield* directory.change(serviceRecord, 8, (settings) =>
          Effect.succeed(pauseService(settings, undefined, 8)),
        )
        expect(directory.service().pause?.sinceMs).toBe(8)
        expect(directory.counts().unreadable).toBe(0)
      }),
    ))

  test("settings keep fields that a newer program has added", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const added = { maxPending: 1, color: "blue" }
        rig.write("shop", added)
        const directory = yield* rig.open()
        yield* directory.change("shop", 9, (before) => Effect.succeed({ ...before, maxPending: 2 }))
        expect(settingsIn(rig.database, "shop").settings).toEqual({
          ...added,
          maxPending: 2,
        } as NamespaceSettings)
      }),
    ))

  test("says at its start that the service is paused, and then once a minute", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const pause = { sinceMs: 0, kind: "asked", reason: "moving house" } as const
        setIn(rig.database, serviceRecord, { pause }, 0)
        const directory = yield* rig.open()
        expect(rig.logs).toEqual([
          expect.stringContaining("paused since 1970-01-01T00:00:00.000Z (moving house)"),
        ])
        for (let half = 0; half < 240; half++) yield* TestClock.adjust(500)
        expect(rig.logs).toHaveLength(3)
        yield* directory.change(serviceRecord, 1, () => Effect.succeed({}))
        for (let half = 0; half < 240; half++) yield* TestClock.adjust(500)
        expect(rig.logs).toHaveLength(3)
      }),
    ))

  test("counts the service's pauses as pauses of every namespace", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        rig.write("shop", { pastPauses: [{ fromMs: 1, untilMs: 2 }] })
        const directory = yield* rig.open()
        yield* directory.change(serviceRecord, 9, () =>
          Effect.succeed({ pause: { sinceMs: 9, kind: "asked" }, pastPauses: [{ fromMs: 4, untilMs: 5 }] }),
        )
        const ofService = [
          { fromMs: 4, untilMs: 5 },
          { fromMs: 9, untilMs: Number.POSITIVE_INFINITY },
        ]
        expect(directory.of("another").pauses).toEqual(ofService)
        expect(directory.of("shop").pauses).toEqual([{ fromMs: 1, untilMs: 2 }, ...ofService])
      }),
    ))
})

describe("webhook secrets", () => {
  const key = new Uint8Array(32).fill(1)
  const [first, second] = [new Uint8Array(24).fill(2), new Uint8Array(24).fill(3)]
  const sealedBy = (seal: SecretSeal) => [seal.seal("shop", first), seal.seal("shop", second)]

  test("are opened once and known in their order", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        rig.write("shop", { webhookSecrets: sealedBy(new SecretSeal([key])) })
        const directory = yield* rig.open({ secretKeys: [key] })
        const { secrets } = directory.of("shop")
        expect(secrets).toEqual([Buffer.from(first), Buffer.from(second)])
        expect(directory.of("shop").secrets).toBe(secrets)
        expect(directory.counts()).toEqual({ paused: 0, sealed: 0, unreadable: 0 })
        expect(rig.logs).toEqual([])
      }),
    ))

  test("that cannot be opened, one or all, are reported at the start and counted", () =>
    withStore((rig) =>
      Effect.gen(function* () {
        const other = new SecretSeal([new Uint8Array(32).fill(9)])
        rig.write("shop", {
          webhookSecrets: [new SecretSeal([key]).seal("shop", first), other.seal("shop", second)],
        })
        for (const secretKeys of [[key], []]) {
          const directory = yield* rig.open({ secretKeys })
          expect(directory.of("shop").secrets).toBe("sealed")
          expect(directory.counts().sealed).toBe(1)
          expect(rig.logs.splice(0)).toEqual([
            expect.stringMatching(/secrets of shop cannot be opened.*TIMER_SECRET_KEY/),
          ])
        }
        const directory = yield* rig.open({ secretKeys: [key] })
        yield* directory.change("shop", 1, () => Effect.succeed({ webhookSecrets: sealedBy(directory.seal) }))
        expect(directory.counts().sealed).toBe(0)
        expect(rig.logs.at(-1)).toBe("all webhook secrets can be opened")
      }),
    ))
})

describe("the number of namespaces with settings", () => {
  const put = (directory: NamespaceDirectory["Service"], namespace: string, settings: NamespaceSettings) =>
    directory.change(namespace, 1, () => Effect.succeed(settings))

  test("is bounded: a further namespace is refused, and those that have settings can change them", () =>
    withStore(({ open, database }) =>
      Effect.gen(function* () {
        const directory = yield* open({ maxNamespaces: 2 })
        yield* put(directory, "a", { maxPending: 1 })
        yield* put(directory, "b", { maxPending: 1 })
        expect(yield* Effect.flip(put(directory, "c", { maxPending: 1 }))).toMatchObject({
          _tag: "TooManySettings",
          limit: 2,
        })
        expect(settingsIn(database, "c").version).toBe(0)
        yield* put(directory, "a", { maxPending: 2 })
        expect(directory.of("a").settings).toEqual({ maxPending: 2 })
        // The settings of the service are not those of a namespace.
        yield* put(directory, serviceRecord, { pastPauses: [] })
      }),
    ))

  test("shrinks when a namespace that was paused has no other settings and no pending timers", () =>
    withStore(({ open, database }) =>
      Effect.gen(function* () {
        const directory = yield* open()
        const edit = (change: Parameters<typeof editSettings>[1], nowMs: number) =>
          directory.change("shop", nowMs, (settings) => Effect.succeed(editSettings(settings, change, nowMs)))
        const timer = sampleTimer({ namespace: "shop" })
        applyTo(database, 0, putOf(timer))
        yield* edit({ paused: true, maxPending: 5 }, 1)
        yield* edit({ paused: false, maxPending: null }, 2)
        // The pending timer may have waited during the pause, and this time does not count for it.
        const pastPauses = [{ fromMs: 1, untilMs: 2 }]
        expect(settingsIn(database, "shop").settings).toEqual({ pastPauses })
        yield* edit({ paused: true }, 3)
        yield* edit({ paused: false }, 4)
        expect(settingsIn(database, "shop").settings.pastPauses).toHaveLength(2)
        applyTo(database, 0, cancelOf(timer))
        yield* edit({ maxPending: null }, 5)
        expect(settingsIn(database, "shop").version).toBe(0)
        expect(directory.of("shop").pauses).toEqual([])
      }),
    ))

  test("shrinks when all settings of a namespace are reset, also on other nodes", () =>
    withStore(({ open, database }) =>
      Effect.gen(function* () {
        const [directory, other] = [yield* open({ maxNamespaces: 1 }), yield* open({ maxNamespaces: 1 })]
        yield* put(directory, "a", { maxPending: 1 })
        yield* other.refresh
        expect(other.of("a").settings).toEqual({ maxPending: 1 })
        yield* put(directory, "a", {})
        expect(settingsIn(database, "a").version).toBe(0)
        yield* other.refresh
        expect(other.of("a").settings).toEqual({})
        yield* put(other, "b", { maxPending: 1 })
        yield* directory.refresh
        expect(directory.of("b").settings).toEqual({ maxPending: 1 })
        expect(yield* Effect.flip(put(directory, "a", { maxPending: 1 }))).toMatchObject({
          _tag: "TooManySettings",
        })
      }),
    ))
})

test("after another key is used, secrets are opened in slices, and other work runs between them", () =>
  withStore(({ open, write }) =>
    Effect.gen(function* () {
      const key = new Uint8Array(32).fill(7)
      const seal = new SecretSeal([key])
      for (let index = 0; index < 1_000; index++) {
        const namespace = `n-${index}`
        write(namespace, { webhookSecrets: [seal.seal(namespace, new Uint8Array(32).fill(1))] })
      }
      let present: Uint8Array | undefined
      const keyFile = {
        can: {
          path: "key",
          read: Effect.sync(() => present),
          make: Effect.fail({ message: "not here" }),
          whyUnsafe: Effect.undefined,
        },
      }
      const directory = yield* open({ keyFile })
      expect(directory.counts().sealed).toBe(1_000)
      present = key
      const seen = new Set<number>()
      const watching = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => seen.add(directory.counts().sealed)),
            Effect.yieldNow,
          ),
        ),
      )
      yield* directory.refresh
      watching.interruptUnsafe()
      expect(directory.counts().sealed).toBe(0)
      expect(seen.size).toBeGreaterThan(3)
    }),
  ))
