// The laws of the ShardStorage port, as one suite that every adapter runs: the fence, the order of commits,
// expectations and looks. The suite of TimerStore checks the store that is built on this port.
import { describe, expect, test } from "bun:test"
import { Effect, type Layer } from "effect"
import { decide } from "../src/domain/decide.ts"
import { endOfLife } from "../src/domain/endOfLife.ts"
import type { Timer } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { keyOfItem, livesNamedBy } from "../src/domain/WriteItem.ts"
import { wordOfTag } from "../src/domain/words.ts"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { type KeyChange, type Look, ShardStorage } from "../src/ports/ShardStorage.ts"
import type { StoreError } from "../src/ports/TimerStore.ts"
import { decidingStore } from "../src/stores/DecidingStore.ts"
import { keyChangeOf } from "../src/stores/keyChangeOf.ts"
import { at } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  onlyKey,
  outcomeOf,
  putOf,
  replayOf,
  sampleNow,
  samplePut,
  sampleTimer,
} from "./timers.ts"
import { expectWordsAgree } from "./wordsAgree.ts"

export interface StorageFixture {
  readonly name: string
  /** A layer that makes a new, empty store and leaves nothing behind. */
  storage(options: { readonly shards: number }): Layer.Layer<ShardStorage | ShardLeases, unknown>
  /** A timer that the database refuses to store, or the reason why there is none. */
  readonly refusedTimer: Timer | { readonly skipped: string }
}

type Law = (title: string, body: () => Effect.Effect<void, unknown, ShardStorage | ShardLeases>) => void

export const shardStorageSuite = (fixture: StorageFixture): void => {
  const lawOn =
    (shards: number): Law =>
    (title, body) =>
      test(title, () =>
        Effect.runPromise(body().pipe(Effect.provide(fixture.storage({ shards })), Effect.scoped)),
      )
  // With one shard, every key belongs to the shard that the laws commit to.
  const law = lawOn(1)
  describe(`ShardStorage: ${fixture.name}`, () => {
    describe("fence and order", () => orderLaws(law, lawOn(2)))
    describe("expectations", () => expectationLaws(law))
    describe("refusals", () => refusalLaws(law, fixture))
    describe("looks", () => lookLaws(law))
    describe("calls with several commits", () => callLaws(law))
  })
}

/** The owner of shard 0, and what it needs to commit changes to the shard. */
const owning = Effect.gen(function* () {
  const storage = yield* ShardStorage
  const leases = yield* ShardLeases
  const claim = Effect.fnUntraced(function* (node: string) {
    const lease = yield* leases.claim(at(yield* leases.owners, 0), node)
    if (lease === undefined) return yield* Effect.die("the shard could not be claimed")
    yield* storage.open(0, lease.epoch)
    return lease.epoch
  })
  const epoch = yield* claim("node-1")
  let number = 0
  const look = (item: WriteItem) => {
    const lives = livesNamedBy(item)
    const asked: Look = { key: onlyKey(keyOfItem(item)), lives, withPayload: true }
    return Effect.map(storage.look([asked]), (found) => at(found, 0))
  }
  /** The change that the item asks for, decided from the current state. */
  const decided = Effect.fnUntraced(function* (item: WriteItem) {
    const known = yield* look(item)
    const change = keyChangeOf(item, decide(item, known), known)
    if (change === undefined) return yield* Effect.die(`the ${item.kind} changes nothing`)
    return change
  })
  const commit = (changes: ReadonlyArray<KeyChange>, rest: { epoch?: number; number?: number } = {}) => {
    number = rest.number ?? number + 1
    return Effect.map(
      storage.commit([{ shard: 0, epoch: rest.epoch ?? epoch, number, changes }]),
      (answers) => at(answers, 0),
    )
  }
  /** Decides and commits the items one after the other. Each must be carried out. */
  const done = (...items: ReadonlyArray<WriteItem>) =>
    Effect.forEach(items, (item) =>
      Effect.flatMap(decided(item), (change) =>
        Effect.map(commit([change]), (answer) => expect(answer).toEqual(carriedOut)),
      ),
    )
  const stateOf = (timer: Timer) => Effect.all([look(cancelOf(timer)), storage.tally])
  return { storage, leases, claim, epoch, decided, commit, done, stateOf }
})

const carriedOut = { result: "committed", missed: [], refused: [] } as const
const missedAll = { result: "committed", missed: [0], refused: [] } as const

const orderLaws = (law: Law, lawOfTwo: Law): void => {
  law("a commit under an epoch that is not the shard's changes nothing", () =>
    Effect.gen(function* () {
      const { epoch, claim, decided, commit, stateOf } = yield* owning
      const put = samplePut()
      const change = yield* decided(put)
      const before = yield* stateOf(put.timer)
      yield* claim("node-2")
      for (const other of [epoch, epoch + 2, 0, -1]) {
        expect(yield* commit([change], { epoch: other })).toEqual({ result: "ownershipLost" })
      }
      expect(yield* stateOf(put.timer)).toEqual(before)
    }),
  )

  law("a commit whose number is not above the last one changes nothing; numbers may skip values", () =>
    Effect.gen(function* () {
      const { decided, commit, stateOf } = yield* owning
      const [first, later] = [samplePut(), samplePut()]
      expect(yield* commit([yield* decided(first)], { number: 5 })).toEqual(carriedOut)
      expect(yield* commit([], { number: 7 })).toEqual(carriedOut)
      const change = yield* decided(later)
      const before = yield* stateOf(later.timer)
      for (const number of [7, 6, 5, 1, 0]) {
        expect(yield* commit([change], { number })).toEqual({ result: "overtaken" })
        expect(yield* commit([], { number })).toEqual({ result: "overtaken" })
      }
      expect(yield* stateOf(later.timer)).toEqual(before)
      expect(yield* commit([change], { number: 8 })).toEqual(carriedOut)
    }),
  )

  lawOfTwo("each shard counts its own numbers, and each commit of a call succeeds or fails by itself", () =>
    Effect.gen(function* () {
      const { storage, leases, epoch, decided, commit } = yield* owning
      const other = (yield* leases.claim(at(yield* leases.owners, 1), "node-1"))?.epoch ?? Number.NaN
      const [old, elsewhere] = [yield* decided(samplePut()), yield* decided(samplePut())]
      yield* commit([], { number: 9 })
      const answers = yield* storage.commit([
        { shard: 0, epoch, number: 8, changes: [old] },
        { shard: 1, epoch: other, number: 1, changes: [elsewhere] },
      ])
      expect(answers).toEqual([{ result: "overtaken" }, carriedOut])
    }),
  )

  law("a claim restarts the numbers, and a refused commit uses none", () =>
    Effect.gen(function* () {
      const { epoch, claim, commit } = yield* owning
      yield* commit([], { number: 1_000 })
      const next = yield* claim("node-2")
      expect(yield* commit([], { epoch, number: 2_000 })).toEqual({ result: "ownershipLost" })
      for (const number of [1, 2]) {
        expect(yield* commit([], { epoch: next, number })).toEqual(carriedOut)
        expect(yield* commit([], { epoch: next, number })).toEqual({ result: "overtaken" })
      }
    }),
  )
}

/** An item, the state from which it is decided, and what happens between the decision and the commit. */
interface Race {
  readonly title: string
  readonly before: ReadonlyArray<WriteItem>
  readonly item: WriteItem
  readonly between: ReadonlyArray<WriteItem>
}

const races = (): ReadonlyArray<Race> => {
  const timer = sampleTimer({ timerId: "contended", payload: new Uint8Array([1]), tags: ["a", "b"] })
  const put = putOf(timer)
  const other = samplePut({ timerId: "contended", fireAt: sampleNow + 9, tags: ["b", "c"] })
  const retry = outcomeOf(timer, { to: "retry", fireAt: sampleNow + 99 })
  const dies = outcomeOf(timer, { to: "dead", reason: "refused" })
  const dead = { ...endOfLife(timer, "dead", sampleNow), revision: timer.revision }
  const record: WriteItem = { kind: "record", life: { ...endOfLife(timer, "delivered", sampleNow + 70) } }
  return [
    { title: "a create of an unused key", before: [], item: put, between: [other] },
    {
      title: "a create after a life",
      before: [put, cancelOf(timer)],
      item: other,
      between: [samplePut({ timerId: "contended" })],
    },
    {
      title: "a create of a key that had a life in the meantime",
      before: [],
      item: other,
      between: [put, cancelOf(timer)],
    },
    { title: "a change", before: [put], item: changeOf(timer, { executeAt: 1 }), between: [retry] },
    { title: "a cancel", before: [put], item: cancelOf(timer), between: [other] },
    { title: "an outcome", before: [put], item: outcomeOf(timer, delivered), between: [retry] },
    {
      title: "a re-arming",
      before: [put],
      item: outcomeOf(timer, { to: "rearmed", executeAt: 5, fireId: sampleTimer().fireId, latenessMs: 0 }),
      between: [cancelOf(timer)],
    },
    { title: "a record that adds a life", before: [put, other], item: record, between: [record] },
    {
      title: "a record that corrects a life",
      before: [put, cancelOf(timer)],
      item: { ...record, life: { ...record.life, state: "delivered" } },
      between: [record],
    },
    { title: "a replay", before: [put, dies], item: replayOf(dead), between: [discardOf(dead)] },
    {
      title: "a replay of a key that is armed in the meantime",
      before: [put, dies],
      item: replayOf(dead),
      between: [other],
    },
    { title: "a discard", before: [put, dies], item: discardOf(dead), between: [replayOf(dead)] },
    {
      title: "a restored timer",
      before: [],
      item: { kind: "restore", archived: { kind: "pending", timer } },
      between: [other],
    },
    {
      title: "a restored life",
      before: [],
      item: { kind: "restore", archived: { kind: "ended", life: dead } },
      between: [{ kind: "restore", archived: { kind: "ended", life: dead } }],
    },
  ]
}

/** All words that the rows of a race may have. */
const usedWords = ["a", "b", "c"].map(wordOfTag)

const expectationLaws = (law: Law): void => {
  for (const { title, before, item, between } of races()) {
    law(`${title}: if its key changes before the commit, it changes nothing and is answered as missed`, () =>
      Effect.gen(function* () {
        const { storage, decided, commit, done, stateOf } = yield* owning
        yield* done(...before)
        const change = yield* decided(item)
        yield* done(...between)
        const { namespace, timerId, uuid } = keyOfItem(item)
        const state = yield* stateOf(sampleTimer({ namespace, timerId }))
        expect(yield* commit([change])).toEqual(missedAll)
        expect(uuid).toBe(change.key.uuid)
        expect(yield* stateOf(sampleTimer({ namespace, timerId }))).toEqual(state)
        yield* expectWordsAgree(storage, namespace, usedWords)
      }),
    )

    law(`${title}: if its key stays the same, it is carried out with its tally and its words`, () =>
      Effect.gen(function* () {
        const { storage, decided, commit, done } = yield* owning
        yield* done(...before)
        const change = yield* decided(item)
        const tally = yield* storage.tally
        expect(yield* commit([change])).toEqual(carriedOut)
        for (const [name, count] of Object.entries(yield* storage.tally)) {
          const name_ = name as keyof typeof tally
          expect([name, count - tally[name_]]).toEqual([name, change.tally[name_] ?? 0])
        }
        yield* expectWordsAgree(storage, change.key.namespace, usedWords)
      }),
    )
  }

  for (const [part, other] of otherStates(sampleTimer())) {
    law(`a row that differs only in its ${part} is not the expected row`, () =>
      Effect.gen(function* () {
        const { decided, commit, done } = yield* owning
        const timer = sampleTimer()
        yield* done(putOf(timer))
        const cancel = yield* decided(cancelOf(timer))
        const changed = { ...timer, [part]: other[part as keyof Timer] }
        const key = onlyKey(timer)
        const change: KeyChange = {
          key,
          expects: { pending: timer },
          pending: changed,
          payload: "keep",
          tally: {},
        }
        expect(yield* commit([change])).toEqual(carriedOut)
        expect(yield* commit([cancel])).toEqual(missedAll)
      }),
    )
  }

  law("the store distinguishes two keys that have the same fireId", () =>
    Effect.gen(function* () {
      const { storage, decided, commit, done } = yield* owning
      const taken = sampleTimer()
      const fresh = { ...sampleTimer(), fireId: taken.fireId }
      const restoring = (timer: Timer): WriteItem => ({
        kind: "restore",
        archived: { kind: "pending", timer },
      })
      const changes = [yield* decided(restoring(taken)), yield* decided(restoring(fresh))]
      yield* done(samplePut({ timerId: taken.timerId }))
      expect(yield* commit(changes)).toEqual({ result: "committed", missed: [0], refused: [] })
      expect((yield* storage.tally).created).toBe(2)
    }),
  )

  law("if one change misses, the other changes of the commit are still carried out", () =>
    Effect.gen(function* () {
      const { storage, decided, commit, done } = yield* owning
      const [taken, first, last] = [samplePut(), samplePut(), samplePut()]
      const changes = [yield* decided(first), yield* decided(taken), yield* decided(last)]
      yield* done(taken)
      const before = yield* storage.tally
      expect(yield* commit(changes)).toEqual({ result: "committed", missed: [1], refused: [] })
      expect((yield* storage.tally).created).toBe(before.created + 2)
    }),
  )

  law("an insert without an owner stores only unused keys", () =>
    Effect.gen(function* () {
      const { storage, leases, done } = yield* owning
      const { insertNew } = storage
      if (insertNew === undefined) return
      const [pending, lived, fresh] = [samplePut(), samplePut(), samplePut()]
      yield* done(pending, lived, cancelOf(lived.timer))
      const before = at(yield* leases.owners, 0).foreign
      const timers = [pending.timer, lived.timer, fresh.timer, fresh.timer]
      expect(yield* insertNew(0, timers)).toEqual(["missed", "missed", "stored", "missed"])
      expect(at(yield* leases.owners, 0).foreign).toBe(before + 1)
      expect(yield* insertNew(0, timers)).toEqual(["missed", "missed", "missed", "missed"])
      expect(at(yield* leases.owners, 0).foreign).toBe(before + 1)
    }),
  )
}

/** Changes a single part of the state, which no item does. */
const otherStates = (timer: Timer): ReadonlyArray<readonly [string, Timer]> => [
  ["fireId", { ...timer, fireId: sampleTimer().fireId }],
  ["attempts", { ...timer, attempts: timer.attempts + 1 }],
  ["revision", { ...timer, revision: timer.revision + 1 }],
  ["askedAt", { ...timer, askedAt: sampleNow }],
]

const refusalLaws = (law: Law, { refusedTimer }: StorageFixture): void => {
  if ("skipped" in refusedTimer) {
    test.skip(`a change that the database refuses (skipped: ${refusedTimer.skipped})`, () => {})
    return
  }

  law(
    "a change that the database refuses is answered with the reason, and the other changes are carried out",
    () =>
      Effect.gen(function* () {
        const { storage, decided, commit } = yield* owning
        const [first, last] = [samplePut(), samplePut()]
        const faulty = { ...(yield* decided(samplePut())), key: onlyKey(refusedTimer), pending: refusedTimer }
        const answer = yield* commit([yield* decided(first), faulty, yield* decided(last)])
        expect(answer).toMatchObject({ result: "committed", missed: [], refused: [{ index: 1 }] })
        expect((yield* storage.tally).created).toBe(2)
        const { insertNew } = storage
        if (insertNew === undefined) return
        const inserted = yield* insertNew(0, [sampleTimer(), refusedTimer, sampleTimer()])
        expect(inserted).toEqual(["stored", { refused: expect.any(String) as string }, "stored"])
      }),
  )
}

const lookLaws = (law: Law): void => {
  law("a look answers the pending row, the last life and the named lives, in the order of the request", () =>
    Effect.gen(function* () {
      const { storage, done } = yield* owning
      const payload = new Uint8Array([1, 2, 3])
      const [first, second] = [samplePut({ timerId: "k", payload }), samplePut({ timerId: "k", payload })]
      const dies = outcomeOf(first.timer, { to: "dead", reason: "refused" })
      yield* done(first, dies)
      const armed = { ...second.timer, revision: first.timer.revision + 1 }
      yield* done(second, cancelOf(second.timer), samplePut({ timerId: "k", payload }))
      const key = onlyKey(first.timer)
      const lives = [
        { fireId: first.timer.fireId, minRevision: first.timer.revision },
        { fireId: sampleTimer().fireId, minRevision: 0 },
      ]
      const unused = { key: onlyKey(sampleTimer()), withPayload: true }
      const found = yield* storage.look([
        unused,
        { key, lives, withPayload: true },
        { key, withPayload: false },
      ])
      expect(at(found, 0)).toMatchObject({ pending: undefined, last: undefined })
      const known = at(found, 1)
      expect(known.pending?.payload).toEqual(payload)
      expect(known.last).toMatchObject({
        state: "cancelled",
        fireId: armed.fireId,
        revision: armed.revision + 1,
      })
      expect(known.lives).toMatchObject([{ state: "dead", fireId: first.timer.fireId, reason: "refused" }])
      expect(known.lives?.[0]?.payload).toEqual(payload)
      expect(at(found, 2).pending).toBeDefined()
      expect(at(found, 2).pending).not.toHaveProperty("payload")
    }),
  )

  law("opening a shard again changes nothing", () =>
    Effect.gen(function* () {
      const { storage, epoch, decided, commit } = yield* owning
      yield* storage.open(0, epoch)
      expect(yield* commit([yield* decided(samplePut())])).toEqual(carriedOut)
      yield* storage.open(0, epoch)
    }),
  )
}

const callLaws = (law: Law): void => {
  for (const between of ["a claim", "a later call"] as const) {
    law(`${between} between two commits of one call makes its result unknown`, () =>
      Effect.gen(function* () {
        const { storage, epoch, claim, commit } = yield* owning
        let commits = 0
        const intrude: Effect.Effect<unknown, unknown> =
          between === "a claim" ? claim("node-2") : commit([], { number: 1_000 })
        const store = decidingStore({
          ...storage,
          commit: (sent) =>
            Effect.andThen(++commits === 2 ? Effect.orDie(intrude) : Effect.void, storage.commit(sent)),
        })
        const put = samplePut()
        // A second item of the same key needs its own commit.
        const items = [put, cancelOf(put.timer)]
        const failed: StoreError = yield* Effect.flip(store.write([{ shard: 0, epoch, items }]))
        expect(failed.isFatal).toBe(false)
        expect(failed.message).toContain("a part of the write was stored")
        expect((yield* store.find(put.timer)).pending?.fireId).toBe(put.timer.fireId)
      }),
    )
  }

  law("if another node claims the shard before the first commit, the answer is ownership lost", () =>
    Effect.gen(function* () {
      const { storage, epoch, claim } = yield* owning
      const store = decidingStore(storage)
      yield* claim("node-2")
      const put = samplePut()
      const answers = yield* store.write([{ shard: 0, epoch, items: [put, cancelOf(put.timer)] }])
      expect(answers).toEqual([{ result: "ownershipLost" }])
    }),
  )
}
