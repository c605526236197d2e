// The laws of the TimerStore port about repeated writes. A write comes again unmarked if no other node has written its
// key since. It comes again marked if another node may have.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { at, insertLawsOf, lawsOf, owned, type StoreFixture, timerIn } from "./StoreFixture.ts"
import { timerStoreVacatedSuite } from "./TimerStoreVacated.suite.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  outcomeOf,
  postponementOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
  scheduleOf,
} from "./timers.ts"

export const timerStoreRepeatsSuite = (fixture: StoreFixture): void => {
  describe("repeats", () => sameAnswers(fixture))
  describe("marked repeats", () => {
    done(fixture)
    notDone(fixture)
    writtenSince(fixture)
  })
  timerStoreVacatedSuite(fixture)
}

const sameAnswers = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const timer = sampleTimer({ timerId: "repeated", payload: new Uint8Array([1]) })
  const before = [putOf(timer)]
  const kinds: ReadonlyArray<readonly [string, ReadonlyArray<WriteItem>, WriteItem]> = [
    ["put of a free key", [], putOf(timer)],
    [
      "put that replaces a timer",
      before,
      samplePut({ timerId: "repeated", createdAt: sampleNow + 1, fireAt: sampleNow + 4 }),
    ],
    ["change", before, changeOf(timer, { executeAt: sampleNow + 5 })],
    ["schedule of a free key", [], scheduleOf(timer)],
    [
      "schedule that moves a timer",
      before,
      scheduleOf(sampleTimer({ timerId: "repeated", createdAt: sampleNow + 1, fireAt: sampleNow + 4 })),
    ],
    [
      "schedule of the current due time",
      before,
      scheduleOf(sampleTimer({ timerId: "repeated", createdAt: sampleNow + 1, fireAt: timer.fireAt })),
    ],
    [
      "schedule that is outdated",
      before,
      scheduleOf(sampleTimer({ timerId: "repeated", askedAt: sampleNow - 1, fireAt: sampleNow + 4 })),
    ],
    ["cancel", before, cancelOf(timer)],
    ["outcome delivered", before, outcomeOf(timer, delivered)],
    ["outcome retry", before, outcomeOf(timer, { to: "retry", fireAt: timer.fireAt + 9 })],
    ["outcome postponed", before, postponementOf(timer, timer.fireAt + 9)],
    [
      "outcome re-armed",
      before,
      outcomeOf(timer, { to: "rearmed", executeAt: timer.fireAt + 9, fireId: sampleId(), latenessMs: 0 }),
    ],
    ["outcome dead", before, outcomeOf(timer, { to: "dead", reason: "refused" })],
    ["outcome dropped", before, outcomeOf(timer, { to: "dropped", reason: "expired" })],
  ]
  for (const [title, prepared, item] of kinds) {
    law(`a repeated ${title} changes nothing and gets the same answer`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        yield* write(prepared)
        const first = yield* write([item])
        const state = { found: yield* store.find(timer), tally: yield* store.tally }
        const again = [yield* write([item]), (yield* write([item, item])).slice(1)]
        expect(again).toEqual([first, first])
        expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
      }),
    )
  }

  law("a create that is repeated after its life has ended arms nothing", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const past = { timerId: "late", executeAt: sampleNow - 5, fireAt: sampleNow - 5 }
      const first = samplePut(past)
      yield* write([first, outcomeOf(first.timer, delivered)])
      const answers = yield* write([samplePut(past), first])
      expect(answers.map(({ result }) => result)).toEqual(["alreadyFinished", "alreadyFinished"])
      expect((yield* store.find(first.timer)).pending).toBeUndefined()
      expect((yield* store.tally).created).toBe(1)
    }),
  )
}

const key = { timerId: "carried" }
const timer = sampleTimer({ ...key, payload: new Uint8Array([1]) })
const isRepeat = true
/** Other writes of the same key. */
const other = (given: Parameters<typeof samplePut>[0] = {}) =>
  samplePut({ ...key, createdAt: sampleNow + 1, fireAt: sampleNow + 4, ...given })
const past = { executeAt: sampleNow - 5, fireAt: sampleNow - 5 }
const change = changeOf(timer, { executeAt: sampleNow + 5 })
const cancel = cancelOf(timer)
const replacing = other()

/** The title, the earlier writes, and the write that comes again marked. */
type Case = readonly [string, ReadonlyArray<WriteItem>, WriteItem]

const done = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const cases: ReadonlyArray<Case> = [
    ["put of a free key", [], putOf(timer)],
    ["put that replaces a timer", [putOf(timer)], replacing],
    ["change", [putOf(timer)], change],
    ["cancel", [putOf(timer)], cancel],
    ["cancel of a later life", [putOf(timer), cancelOf(timer), replacing], cancel],
  ]
  for (const [title, before, item] of cases) {
    law(`a ${title} that was done gets the same answer again`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        yield* write(before)
        const first = yield* write([item])
        const state = { found: yield* store.find(timer), tally: yield* store.tally }
        expect(yield* write([{ ...item, isRepeat } as WriteItem])).toEqual(first)
        expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
      }),
    )
  }

  law("a repeated cancel gets its own result, even if the key has another life by then", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const next = other()
      yield* write([putOf(timer), cancel, next])
      expect(yield* write([{ ...cancel, isRepeat }])).toEqual([{ result: "cancelled" }])
      expect((yield* store.find(timer)).pending?.fireId).toBe(next.timer.fireId)
    }),
  )

  law("a repeated put whose timer has ended gets that end, even if the key has another life by then", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const next = other()
      yield* write([putOf(timer), outcomeOf(timer, delivered), next])
      const { last } = yield* store.find(timer)
      expect(last?.fireId).toBe(timer.fireId)
      const answers: ReadonlyArray<unknown> = yield* write([{ ...putOf(timer), isRepeat }])
      expect(answers).toEqual([{ result: "alreadyFinished", life: last }])
      expect((yield* store.find(timer)).pending?.fireId).toBe(next.timer.fireId)
    }),
  )
}

const notDone = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("on an unknown key, a put is carried out, and a change and a cancel find nothing", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const absent = sampleTimer()
      const answers = yield* write([
        { ...changeOf(absent, { executeAt: 1 }), isRepeat },
        { ...cancelOf(absent), isRepeat },
        { ...putOf(timer, "fail"), isRepeat },
      ])
      expect(answers).toEqual([{ result: "notFound" }, { result: "notFound" }, { result: "created", timer }])
      expect((yield* store.find(timer)).pending).toEqual(timer)
      expect((yield* store.tally).created).toBe(1)
    }),
  )

  insertLawsOf(fixture)(
    "a repeated insert finds its own timer, or a free key, or is unknown if other writes came in between",
    () =>
      Effect.gen(function* () {
        const { store, leases, write } = yield* owned
        const put = { ...putOf(timer), isRepeat } as const
        const created = [{ result: "created", timer }] as const
        expect(yield* store.insertIfAbsent(0, [put])).toEqual(created)
        expect(yield* store.insertIfAbsent(0, [put])).toEqual(created)
        yield* write([replacing])
        expect(yield* store.insertIfAbsent(0, [put])).toEqual([{ result: "unknown" }])
        yield* write([cancel])
        expect(yield* store.insertIfAbsent(0, [put])).toEqual([{ result: "unknown" }])
        expect(at(yield* leases.owners, 0).foreign).toBe(1)
        expect((yield* store.find(timer)).pending).toBeUndefined()
      }),
    1,
  )
}

const writtenSince = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const before = [putOf(timer)]
  const first = other(past)
  const cases: ReadonlyArray<Case> = [
    ["a put whose timer was replaced", [...before, replacing], putOf(timer)],
    ["a keeping put whose timer was replaced", [...before, replacing], putOf(timer, "keep")],
    ["a failing put whose timer was replaced", [...before, replacing], putOf(timer, "fail")],
    ["a put whose timer was replaced by a cancelled one", [...before, replacing, cancel], putOf(timer)],
    [
      "a put whose timer was replaced by one that fired",
      [...before, replacing, outcomeOf(replacing.timer, delivered)],
      putOf(timer),
    ],
    ["a put of the pending timer", before, other({ fireAt: timer.fireAt, payload: new Uint8Array([1]) })],
    ["a put for the instant of a timer that fired", [first, outcomeOf(first.timer, delivered)], other(past)],
    ["a change before another", [...before, change, changeOf(timer, { executeAt: sampleNow + 6 })], change],
    ["a change whose timer was cancelled", [...before, change, cancel], change],
    ["a change under a revision", [...before, change, replacing], { ...change, ifRevision: timer.revision }],
    [
      "a change of a timer whose attempt runs by then",
      [...before, change, replacing],
      { ...change, inFlight: replacing.timer.fireId },
    ],
    ["a change that may not have been done", before, change],
    ["a cancel that two lives followed", [...before, cancel, replacing, cancelOf(timer), other()], cancel],
    ["a cancel that another ended life followed", [...before, cancel, replacing, cancelOf(timer)], cancel],
    ["a cancel of a timer whose attempt runs by then", before, { ...cancel, inFlight: timer.fireId }],
    ["a cancel under a revision", before, { ...cancel, ifRevision: timer.revision - 1 }],
    ["a cancel that may not have been done", before, cancel],
  ]
  for (const [title, writes, item] of cases) {
    law(`${title} is answered as unknown when it is repeated, and changes nothing`, () =>
      Effect.gen(function* () {
        const { store, write } = yield* owned
        for (const each of writes) yield* write([each])
        const state = { found: yield* store.find(timer), tally: yield* store.tally }
        const marked = { ...item, isRepeat } as WriteItem
        expect(yield* write([marked])).toEqual([{ result: "unknown" }])
        expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
      }),
    )
  }

  law("a repeated change whose arming has ended is answered as unknown", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const changed = timerIn(at(yield* write([putOf(timer), change]), 1))
      yield* write([outcomeOf(changed, delivered)])
      expect(yield* write([{ ...change, isRepeat }])).toEqual([{ result: "unknown" }])
    }),
  )

  law("an unknown repeat does not affect other items of the batch", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      yield* write([putOf(timer), replacing])
      const answers = yield* write([samplePut(), { ...putOf(timer), isRepeat }, cancel, samplePut()])
      expect(answers.map(({ result }) => result)).toEqual(["created", "unknown", "cancelled", "created"])
    }),
  )
}
