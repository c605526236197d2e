// The laws of the NamespaceStore port, as one suite that every adapter runs.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { NamespaceSettings } from "../src/domain/NamespaceSettings.ts"
import { NamespaceStore, type SettingsRecord, serviceRecord } from "../src/ports/NamespaceStore.ts"
import { lawsOf, owned, type StoreFixture } from "./StoreFixture.ts"
import { cancelOf, outcomeOf, sampleNow, samplePut } from "./timers.ts"

const everything: NamespaceSettings = {
  webhookSecrets: [
    { sealed: "v1.c2VhbGVk", fingerprint: "0123456789abcdef" },
    { sealed: "v1.ZmVkbGFlcw", fingerprint: "fedcba9876543210" },
  ],
  retryPolicy: {
    maxAttempts: 3,
    initialIntervalMs: 10,
    backoffMultiplier: 1.5,
    maxIntervalMs: 99,
    jitter: 0.25,
    maxDurationMs: 8_640_000_000_000,
  },
  maxInFlight: 1,
  maxPending: 0,
  createsPerSecond: 1_000_000,
  pausedSinceMs: sampleNow,
  pastPauses: [{ fromMs: 1, untilMs: sampleNow }],
}

const stored = Effect.fnUntraced(function* (
  namespace: string,
  settings: SettingsRecord["settings"] = {},
  updatedAt = sampleNow,
) {
  const store = yield* NamespaceStore
  const { version } = yield* store.get(namespace)
  const record = yield* store.put({ namespace, settings, version, updatedAt })
  if (record === undefined) throw new Error(`${namespace} was written by another`)
  return record
})

export const namespaceStoreSuite = (fixture: StoreFixture): void => {
  describe(`NamespaceStore: ${fixture.name}`, () => {
    const law = lawsOf(fixture)

    law("a name under which nothing was stored has no settings and version 0", () =>
      Effect.gen(function* () {
        const record = yield* (yield* NamespaceStore).get("shop")
        expect(record).toMatchObject({ namespace: "shop", settings: {}, version: 0 })
      }),
    )

    law("what is stored comes back the same, under a version that a write names to replace it", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        const first = yield* stored("shop", everything)
        expect(first).toMatchObject({ namespace: "shop", settings: everything, updatedAt: sampleNow })
        expect(yield* store.get("shop")).toEqual(first)
        const pause = { sinceMs: sampleNow, kind: "restored", reason: 'Rückspielung \u{1f4be} "x"' } as const
        const service = yield* stored(serviceRecord, { pause }, sampleNow + 1)
        expect(yield* store.get(serviceRecord)).toEqual(service)
        expect(service.settings).toEqual({ pause })
        const second = yield* store.put({ ...first, settings: { maxPending: 7 }, updatedAt: sampleNow + 2 })
        expect(second).toMatchObject({ settings: { maxPending: 7 }, updatedAt: sampleNow + 2 })
        expect(second?.version).toBeGreaterThan(service.version)
        expect(service.version).toBeGreaterThan(first.version)
      }),
    )

    law("a write that names another version than the stored one changes nothing", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        const first = yield* stored("shop", { maxPending: 1 })
        const second = yield* stored("shop", { maxPending: 2 })
        expect(yield* store.put({ ...first, settings: { maxPending: 3 } })).toBeUndefined()
        expect(yield* store.put({ ...first, version: 0, settings: {} })).toBeUndefined()
        expect(yield* store.put({ ...first, namespace: "other" })).toBeUndefined()
        expect(yield* store.get("shop")).toEqual(second)
        expect((yield* store.get("other")).version).toBe(0)
      }),
    )

    law("of writes that name the same version, one succeeds", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        const record = yield* stored("shop")
        const written = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, maxPending) => ({ ...record, settings: { maxPending } })),
          (one) => store.put(one),
          { concurrency: "unbounded" },
        )
        const [won, ...others] = written.filter((one) => one !== undefined)
        expect(others).toEqual([])
        expect(won).toEqual(yield* store.get("shop"))
      }),
    )

    law("changes come in the order of versions, of a record only the last, and pages leave none out", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        expect(yield* store.changesAfter(0, 10)).toEqual([])
        for (const name of ["a", "b", "c", "a", "d", "b"]) yield* stored(name, { maxPending: 1 })
        const all = yield* store.changesAfter(0, 10)
        expect(all.map(({ namespace }) => namespace)).toEqual(["c", "a", "d", "b"])
        const paged: Array<SettingsRecord> = []
        for (let after = 0; ; ) {
          const page = yield* store.changesAfter(after, 3)
          paged.push(...page)
          if (page.length < 3) break
          after = page.at(-1)?.version ?? after
        }
        expect(paged).toEqual([...all])
        expect(yield* store.changesAfter(paged.at(-1)?.version ?? 0, 10)).toEqual([])
      }),
    )

    law("whoever follows the changes while many write misses none", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        const names = Array.from({ length: 40 }, (_, number) => `n-${number}`)
        const seen = new Map<string, number>()
        let after = 0
        const look = Effect.gen(function* () {
          for (const record of yield* store.changesAfter(after, 7)) {
            seen.set(record.namespace, record.version)
            after = record.version
          }
        })
        yield* Effect.forEach(names, (name) => Effect.andThen(stored(name, { maxPending: 1 }), look), {
          concurrency: 8,
        })
        for (let looks = 0; looks < 10; looks++) yield* look
        expect([...seen.keys()].sort()).toEqual([...names].sort())
      }),
    )

    law("settings that were reset are an empty record, and the name stays known", () =>
      Effect.gen(function* () {
        const store = yield* NamespaceStore
        yield* stored("shop", everything)
        const reset = yield* stored("shop", {})
        expect(yield* store.get("shop")).toEqual(reset)
        expect(reset.settings).toEqual({})
        expect((yield* store.changesAfter(0, 10)).map(({ namespace }) => namespace)).toEqual(["shop"])
        expect(yield* store.names("", 10)).toEqual(["shop"])
      }),
    )

    law(
      "names are those with settings, timers, history or dead letters, bytewise, without reserved ones",
      () =>
        Effect.gen(function* () {
          const { write } = yield* owned
          const store = yield* NamespaceStore
          expect(yield* store.names("", 10)).toEqual([])
          const puts = ["pending", "Ended", "dead", "both", "0"].map((namespace) => samplePut({ namespace }))
          const [, ended, dead] = puts
          if (ended === undefined || dead === undefined) throw new Error("unreachable")
          yield* write(puts)
          yield* write([
            cancelOf(ended.timer),
            outcomeOf(dead.timer, { to: "dead", reason: "refused" }),
            samplePut({ namespace: "pending" }),
          ])
          for (const name of ["both", "set", "Z", "a-", serviceRecord, "_another"]) yield* stored(name)
          const names = ["0", "Ended", "Z", "a-", "both", "dead", "pending", "set"]
          expect(yield* store.names("", 100)).toEqual(names)
          expect(yield* store.names("", names.length)).toEqual(names)
          const walked: Array<string> = []
          for (let after = ""; ; ) {
            const page = yield* store.names(after, 3)
            walked.push(...page)
            if (page.length < 3) break
            after = page.at(-1) ?? after
          }
          expect(walked).toEqual(names)
          expect(yield* store.names("Z", 1)).toEqual(["a-"])
          expect(yield* store.names("_", 1)).toEqual(["a-"])
          expect(yield* store.names("set", 1)).toEqual([])
        }),
    )

    const { reopened } = fixture
    if ("skipped" in reopened) test.skip(`an answered write survives (${reopened.skipped})`, () => {})
    else {
      test("an answered write survives, and versions go on rising", async () => {
        const { first, second, dispose } = reopened({ shards: 1 })
        try {
          const before = await Effect.runPromise(
            stored("shop", everything).pipe(Effect.provide(first), Effect.scoped),
          )
          await Effect.runPromise(
            Effect.gen(function* () {
              const store = yield* NamespaceStore
              expect(yield* store.get("shop")).toEqual(before)
              expect((yield* stored("other")).version).toBeGreaterThan(before.version)
            }).pipe(Effect.provide(second), Effect.scoped),
          )
        } finally {
          dispose()
        }
      })
    }
  })
}
