// The laws of the TimerArchive port, as one suite that every adapter runs.
import { describe, expect, test } from "bun:test"
import { Documents } from "@punctual/documents/Documents"
import { Context, Effect, type Layer, type Scope } from "effect"
import type { Tally } from "../src/domain/Decision.ts"
import { beginning } from "../src/domain/DueOrder.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import { type ArchivedItem, keyOfArchived } from "../src/domain/WriteItem.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import type { ArchivePlace, TimerArchive } from "../src/ports/TimerArchive.ts"
import { type ShardBatch, TimerStore } from "../src/ports/TimerStore.ts"
import { at, idsOf, owned, type Store, timerIn, walkList } from "./StoreFixture.ts"
import {
  cancelOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleSpec,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

/** Opens an archive of the current store. */
export class ArchiveOpening extends Context.Service<
  ArchiveOpening,
  { readonly open: Effect.Effect<TimerArchive, unknown, Scope.Scope> }
>()("punctual/testkit/ArchiveOpening") {}

export type ArchivedStore = Store | ArchiveOpening

export interface ArchiveFixture {
  readonly name: string
  /** A layer that makes a new, empty store and leaves nothing behind. */
  fresh(options: { readonly shards: number }): Layer.Layer<ArchivedStore, unknown>
  /** Why the archive cannot be read while the store is written to. It then fails, and a test of the store shows it. */
  readonly instantSkipped?: string
}

export const timerArchiveSuite = (fixture: ArchiveFixture): void => {
  describe(`TimerArchive: ${fixture.name}`, () => {
    const law = lawsOf(fixture)
    readingLaws(law)
    const { instantSkipped } = fixture
    if (instantSkipped === undefined) instantLaws(law)
    else test.skip(`an archive shows the instant of its opening (skipped: ${instantSkipped})`, () => {})
    restoringLaws(fixture, law)
    refusingLaws(law)
  })
}

type Law = (title: string, body: () => Effect.Effect<void, unknown, ArchivedStore | Scope.Scope>) => void

const lawsOf =
  (fixture: ArchiveFixture): Law =>
  (title, body) => {
    test(title, () => run(body(), fixture, 4))
  }

const run = <A>(
  body: Effect.Effect<A, unknown, ArchivedStore | Scope.Scope>,
  fixture: ArchiveFixture,
  shards: number,
): Promise<A> => Effect.runPromise(body.pipe(Effect.provide(fixture.fresh({ shards })), Effect.scoped))

/** Pages this small show whether pages join without a gap. */
const contentsOf = (archive: TimerArchive, limit: number) =>
  Effect.gen(function* () {
    const items: Array<ArchivedItem> = []
    let after: ArchivePlace | undefined
    do {
      const page = yield* archive.page(after, limit)
      expect(page.items.length).toBeLessThanOrEqual(limit)
      items.push(...page.items)
      after = page.next
    } while (after !== undefined)
    return items
  })

const contents = (limit = 3) =>
  Effect.flatMap(ArchiveOpening, ({ open }) =>
    Effect.scoped(Effect.flatMap(open, (archive) => contentsOf(archive, limit))),
  )

/** Fills the store so that each field of a timer or a life occurs at least once. */
const fill = Effect.gen(function* () {
  const { write } = yield* owned
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  const rich = sampleTimer({
    timerId: "rich ☂ id",
    payload: bytes,
    correlationId: "c-☂",
    tags: ["☂", "archived"],
    spec: {
      target: { ...sampleSpec.target, type: "webhook", headers: { "x-a": "é" } } as typeof sampleSpec.target,
      retryPolicy: { ...sampleSpec.retryPolicy, maxDurationMs: 60_000 },
      expireAfterMs: 5_000,
    },
  })
  const retried = sampleTimer({ timerId: "retried", fireAt: sampleNow + 1 })
  const asked = scheduleOf(
    sampleTimer({ timerId: "asked", spec: { ...sampleSpec, target: { type: "event" } } }),
  )
  const empty = sampleTimer({ namespace: "other", timerId: "empty", payload: new Uint8Array() })
  const again = sampleTimer({ timerId: "again", fireAt: sampleNow + 2 })
  const ending = Array.from({ length: 5 }, (_, index) =>
    sampleTimer({ timerId: `ends-${(index * 3) % 5}`, fireAt: sampleNow, payload: bytes }),
  )
  const cancelled = sampleTimer({ timerId: "cancelled" })
  const dead = sampleTimer({ timerId: "dead", fireAt: sampleNow, payload: bytes, tags: ["archived"] })
  const lives = [...ending, again, cancelled, dead]
  yield* write([rich, retried, empty, ...lives].map((timer) => putOf(timer)))
  yield* write([asked])
  yield* write([outcomeOf(retried, { to: "retry", fireAt: sampleNow + 90 }, { at: sampleNow + 50 })])
  for (const timer of ending) yield* write([outcomeOf(timer, delivered, { at: sampleNow + 99 })])
  yield* write([
    outcomeOf(again, delivered),
    cancelOf(cancelled),
    outcomeOf(
      dead,
      { to: "dead", reason: "refused" },
      { attemptLog: [{ at: 5, durationMs: 1, error: "no" }] },
    ),
  ])
  yield* write([samplePut({ timerId: "again", createdAt: sampleNow + 200, fireAt: sampleNow + 5_000 })])
})

/** Claims every shard, also from another owner. */
const held = Effect.gen(function* () {
  const [store, leases] = [yield* TimerStore, yield* ShardLeases]
  const epochs: Array<number> = []
  for (const lease of yield* leases.owners) {
    const epoch = (yield* leases.claim(lease, "restorer"))?.epoch ?? Number.NaN
    yield* store.open(lease.shard, epoch)
    epochs.push(epoch)
  }
  return epochs
})

const batchesOf = (items: ReadonlyArray<ArchivedItem>, epochs: ReadonlyArray<number>) =>
  epochs.flatMap((epoch, shard): ReadonlyArray<ShardBatch> => {
    const own = items.filter((item) => shardOf(keyOfArchived(item).uuid, epochs.length) === shard)
    if (own.length === 0) return []
    return [{ shard, epoch, items: own.map((archived) => ({ kind: "restore", archived })) }]
  })

/** The result of each item, in the order of the items. */
const restore = Effect.fnUntraced(function* (items: ReadonlyArray<ArchivedItem>) {
  const batches = batchesOf(items, yield* held)
  const answers = yield* (yield* TimerStore).write(batches)
  const results = new Map<ArchivedItem, string>()
  answers.forEach((answer, index) => {
    if (answer.result !== "written") throw new Error("a shard was lost")
    at(batches, index).items.forEach((item, position) => {
      if (item.kind === "restore") results.set(item.archived, at(answer.answers, position).result)
    })
  })
  return items.map((item) => results.get(item))
})

const pendingItem = (timer: Timer): ArchivedItem => ({ kind: "pending", timer })
const endedItem = (life: FinishedLife): ArchivedItem => ({ kind: "ended", life })

const lifeOf = (timer: Timer, rest: Partial<FinishedLife> = {}): FinishedLife => {
  const { fireAt: _, updatedAt: __, askedAt: ___, firstAttemptAt: ____, payload: _____, ...kept } = timer
  return { ...kept, state: "delivered", finishedAt: sampleNow + 60, latenessMs: 4, ...rest }
}

const sorted = (items: ReadonlyArray<ArchivedItem>): ReadonlyArray<ArchivedItem> =>
  [...items].sort((a, b) => (keyOfArchived(a).fireId < keyOfArchived(b).fireId ? -1 : 1))

const pendingBy = (tally: Tally): number =>
  tally.created +
  tally.rearmed +
  tally.replayed -
  (tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded)

const readingLaws = (law: Law): void => {
  law("an empty store has an empty archive", () =>
    Effect.gen(function* () {
      expect(yield* contents()).toEqual([])
    }),
  )

  law("every row is in the archive's pages exactly once and unchanged, for any page size", () =>
    Effect.gen(function* () {
      yield* fill
      const store = yield* TimerStore
      const whole = sorted(yield* contents(1_000))
      expect(whole).toHaveLength(13)
      for (const limit of [1, 2, 5]) expect(sorted(yield* contents(limit))).toEqual([...whole])
      for (const item of whole) {
        const key = keyOfArchived(item)
        const { pending, last } = yield* store.find(key)
        if (item.kind === "pending") expect(pending).toEqual(item.timer)
        else expect(last).toEqual(item.life)
      }
    }),
  )

  law("an archive says how many shards the store has", () =>
    Effect.gen(function* () {
      expect((yield* (yield* ArchiveOpening).open).shards).toBe(4)
    }),
  )
}

const instantLaws = (law: Law): void => {
  law("an archive shows the store at the instant at which it was opened", () =>
    Effect.gen(function* () {
      yield* fill
      const before = sorted(yield* contents(1_000))
      const archive = yield* (yield* ArchiveOpening).open
      const { write } = yield* owned
      yield* write([samplePut({ timerId: "later" }), cancelOf(sampleTimer({ timerId: "retried" }))])
      expect(sorted(yield* contentsOf(archive, 2))).toEqual([...before])
      expect(sorted(yield* contents(1_000))).not.toEqual([...before])
    }),
  )

  law("an archive has the documents of the instant of its opening, by version, without later writes", () =>
    Effect.gen(function* () {
      const documents = yield* Documents
      const put = Effect.fnUntraced(function* (kind: string, id: string, value: number) {
        const expectedVersion = (yield* documents.get(kind, id))?.version ?? 0
        return yield* documents.put({ kind, id, value, expectedVersion, updatedAt: 1 })
      })
      for (const id of ["b", "a", "gone", "c"]) yield* put("settings", id, 1)
      yield* put("other", "a", 1)
      const { version: expectedVersion = 0 } = (yield* documents.get("settings", "gone")) ?? {}
      yield* documents.remove({ kind: "settings", id: "gone", expectedVersion, updatedAt: 1 })
      const before = yield* documents.changesAfter("settings", 0, 10)
      const archive = yield* (yield* ArchiveOpening).open
      yield* put("settings", "b", 2)
      yield* put("settings", "d", 2)
      const first = yield* archive.documents("settings", 0, 2)
      const rest = yield* archive.documents("settings", first.at(-1)?.version ?? 0, 10)
      expect([...first, ...rest]).toEqual([...before])
      expect(before).toHaveLength(4)
    }),
  )
}

const restoringLaws = (fixture: ArchiveFixture, law: Law): void => {
  test("a restore stores what the archive read, also into another number of shards, and the tally balances", async () => {
    const filled = Effect.andThen(fill, Effect.all([contents(), endedIds, tally]))
    const [items, ends, before] = await run(filled, fixture, 4)
    const restored = Effect.gen(function* () {
      expect(new Set(yield* restore(items))).toEqual(new Set(["restored"]))
      return yield* Effect.all([contents(), endedIds, tally])
    })
    const [again, endsAgain, after] = await run(restored, fixture, 3)
    expect(sorted(again)).toEqual([...sorted(items)])
    expect(endsAgain).toEqual(ends)
    expect(pendingBy(after)).toBe(pendingBy(before))
    expect([after.delivered, after.cancelled, after.dead]).toEqual([6, 1, 1])
  })

  test("a restored timer is found by its words", async () => {
    const items = await run(Effect.andThen(fill, contents()), fixture, 4)
    const found = Effect.gen(function* () {
      yield* restore(items)
      const query = { namespace: "shop", reversed: false, includePayload: false, limit: 10 }
      for (const filter of [{ tag: "☂" }, { tag: "archived" }, { correlationId: "c-☂" }]) {
        expect(idsOf(yield* walkList({ ...query, state: "pending", ...filter }))).toEqual(["rich ☂ id"])
      }
      expect(idsOf(yield* walkList({ ...query, state: "dead", tag: "archived" }))).toEqual(["dead"])
    })
    await run(found, fixture, 3)
  })

  law("a restored timer fires, moves and ends like any other timer", () =>
    Effect.gen(function* () {
      const timer = sampleTimer({ fireAt: sampleNow + 5, attempts: 2, revision: sampleNow + 7 })
      yield* restore([pendingItem(timer)])
      const { store, write, shardOf: shardOfTimer } = yield* owned
      const query = {
        shard: shardOfTimer(timer),
        exclusiveAfter: beginning,
        inclusiveUntilMs: sampleNow + 5,
        limit: 10,
      }
      expect((yield* store.due(query)).timers).toEqual([timer])
      const moved = timerIn((yield* write([samplePut({ timerId: timer.timerId })]))[0])
      expect(moved.revision).toBeGreaterThan(timer.revision)
      yield* write([outcomeOf(moved, delivered)])
      expect(pendingBy(yield* store.tally)).toBe(0)
    }),
  )

  law("a repeated restore finds every item present and changes nothing", () =>
    Effect.gen(function* () {
      const timers = [sampleTimer({ payload: new Uint8Array([1]) }), sampleTimer()]
      const lives = [lifeOf(sampleTimer()), lifeOf(sampleTimer(), { state: "dead", reason: "expired" })]
      const items = [...timers.map(pendingItem), ...lives.map(endedItem)]
      expect(new Set(yield* restore(items))).toEqual(new Set(["restored"]))
      const before = [yield* contents(), yield* tally]
      expect(new Set(yield* restore(items))).toEqual(new Set(["present"]))
      expect([yield* contents(), yield* tally]).toEqual(before)
    }),
  )

  law("an item that is twice in one batch is restored once", () =>
    Effect.gen(function* () {
      const pending = pendingItem(sampleTimer())
      const ended = endedItem(lifeOf(sampleTimer()))
      const twice = [pending, { ...pending }, ended, { ...ended }]
      expect(yield* restore(twice)).toEqual(["restored", "present", "restored", "present"])
      expect(yield* contents()).toHaveLength(2)
    }),
  )

  law("a timer that was restored and has ended since is not restored again", () =>
    Effect.gen(function* () {
      const [first, second] = [sampleTimer({ fireAt: sampleNow }), sampleTimer()]
      yield* restore([pendingItem(first), pendingItem(second)])
      const { store, write } = yield* owned
      yield* write([outcomeOf(first, delivered), cancelOf(second)])
      expect(yield* restore([pendingItem(first), pendingItem(second)])).toEqual(["present", "present"])
      expect((yield* store.find(first)).pending).toBeUndefined()
      expect(pendingBy(yield* store.tally)).toBe(0)
    }),
  )
}

const refusingLaws = (law: Law): void => {
  law("a restore does not change a key that has another history", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const [here, ended, running] = [sampleTimer(), sampleTimer({ fireAt: sampleNow }), sampleTimer()]
      yield* write([here, ended, running].map((timer) => putOf(timer)))
      yield* write([outcomeOf(ended, delivered)])
      const before = [yield* contents(), yield* tally]
      const others = [
        pendingItem(sampleTimer({ timerId: here.timerId, fireId: sampleId() })),
        pendingItem(sampleTimer({ timerId: ended.timerId, fireId: sampleId() })),
        endedItem(lifeOf(running)),
      ]
      expect(yield* restore(others)).toEqual(["differs", "differs", "differs"])
      expect([yield* contents(), yield* tally]).toEqual(before)
      expect((yield* store.find(here)).pending).toEqual(here)
    }),
  )

  law("a restore adds an earlier life to a key that has a later one", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const now = sampleTimer({ createdAt: sampleNow + 1_000 })
      yield* write([putOf(now)])
      const earlier = lifeOf(sampleTimer({ timerId: now.timerId }))
      expect(yield* restore([endedItem(earlier)])).toEqual(["restored"])
      expect(yield* store.find(now)).toEqual({ pending: now, last: earlier })
    }),
  )

  law("under an epoch that is not the shard's nothing is restored, and other batches succeed", () =>
    Effect.gen(function* () {
      const items = Array.from({ length: 20 }, () => pendingItem(sampleTimer()))
      const epochs = yield* held
      const batches = batchesOf(items, epochs).map((batch, index) =>
        index === 0 ? { ...batch, epoch: batch.epoch - 1 } : batch,
      )
      const answers = yield* (yield* TimerStore).write(batches)
      expect(answers.map(({ result }) => result)).toEqual(
        batches.map((_, index) => (index === 0 ? "ownershipLost" : "written")),
      )
      expect(yield* contents()).toHaveLength(20 - at(batches, 0).items.length)
    }),
  )

  law("an item that is too large to store does not fail the other items", () =>
    Effect.gen(function* () {
      const { itemBytes } = (yield* TimerStore).limits
      const items = [
        pendingItem(sampleTimer()),
        pendingItem(sampleTimer({ payload: new Uint8Array(itemBytes) })),
        pendingItem(sampleTimer()),
      ]
      expect(yield* restore(items)).toEqual(["restored", "unstorable", "restored"])
      expect(yield* contents()).toHaveLength(2)
    }),
  )
}

const tally = Effect.flatMap(TimerStore, (store) => store.tally)

/** The ids of the delivered lives that lists find. */
const endedIds = Effect.gen(function* () {
  const query = { namespace: "shop", reversed: false, includePayload: false, limit: 100 } as const
  return [...idsOf(yield* walkList({ ...query, state: "delivered" }))].sort()
})
