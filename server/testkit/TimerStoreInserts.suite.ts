// The laws of the TimerStore port about inserts without an owner. A store may leave every create to an owner.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { at, insertLawsOf, owned, type StoreFixture, timerIn } from "./StoreFixture.ts"
import { cancelOf, sampleNow, samplePut } from "./timers.ts"

export const timerStoreInsertsSuite = (fixture: StoreFixture): void => {
  describe("inserts without an owner", () => insertLaws(fixture))
}

const insertLaws = (fixture: StoreFixture): void => {
  const law = insertLawsOf(fixture)

  law(
    "insertIfAbsent needs no fence, keeps an existing timer, and raises `foreign` only when it stores a timer",
    () =>
      Effect.gen(function* () {
        const { store, leases, write } = yield* owned
        const there = samplePut()
        yield* write([there])
        const absent = samplePut()
        const other = samplePut({ timerId: there.timer.timerId, fireAt: sampleNow + 9 })
        const first = yield* store.insertIfAbsent(0, [absent, other])
        expect(first.map(({ result }) => result)).toEqual(["created", "exists"])
        expect(timerIn(first[1])).toEqual(there.timer)
        expect(at(yield* leases.owners, 0).foreign).toBe(1)
        const again = yield* store.insertIfAbsent(0, [absent, other])
        expect(again).toEqual(first)
        expect(at(yield* leases.owners, 0).foreign).toBe(1)
        expect((yield* store.find(absent.timer)).pending).toEqual(absent.timer)
        expect((yield* store.find(there.timer)).pending).toEqual(there.timer)
      }),
    1,
  )

  law(
    "insertIfAbsent never begins another life of a key, even if it comes very late",
    () =>
      Effect.gen(function* () {
        const { store, leases, write } = yield* owned
        const late = samplePut({ timerId: "late" })
        const [replacing, another] = [samplePut({ timerId: "late", fireAt: sampleNow + 9 }), samplePut()]
        // The caller gave up the insert, and an owner repeated it. Later writes removed every trace of its fireId.
        yield* write([late, replacing, cancelOf(late.timer), another, cancelOf(another.timer)])
        const before = yield* store.find(late.timer)
        const tally = yield* store.tally
        const neighbour = samplePut()
        const { executeAt, timerId } = another.timer
        // A create for a time at which the key was already due counts as the same create again.
        const again = samplePut({ timerId, executeAt, createdAt: executeAt + 1 })
        const answers = yield* store.insertIfAbsent(0, [late, neighbour, another, again])
        expect(answers.map(({ result }) => result)).toEqual([
          "needsOwner",
          "created",
          "alreadyFinished",
          "alreadyFinished",
        ])
        expect(yield* store.find(late.timer)).toEqual(before)
        expect(yield* store.insertIfAbsent(0, [late, late])).toEqual([
          { result: "needsOwner" },
          { result: "needsOwner" },
        ])
        expect(yield* store.tally).toEqual({ ...tally, created: tally.created + 1 })
        expect(at(yield* leases.owners, 0).foreign).toBe(1)
        // An owner may begin another life.
        expect((yield* write([late])).map(({ result }) => result)).toEqual(["created"])
      }),
    1,
  )
}
