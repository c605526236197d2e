// The laws of the TimerStore port about dead letters (replay, discard, search by key) and about the log of attempts
// that every life keeps.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { beginning } from "../src/domain/DueOrder.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { at, idsOf, lawsOf, owned, type StoreFixture, timerIn, walkList } from "./StoreFixture.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  discardOf,
  outcomeOf,
  postponementOf,
  putOf,
  replayOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
} from "./timers.ts"

export const timerStoreDeadLettersSuite = (fixture: StoreFixture): void => {
  describe("dead letters", () => {
    dropLaws(fixture)
    replayLaws(fixture)
    discardLaws(fixture)
    repeatLaws(fixture)
    lookLaws(fixture)
  })
  describe("attempts", () => logLaws(fixture))
}

const died = { to: "dead", reason: "refused" } as const
const later = sampleNow + 7_200_000

/** The writes that make the timer a dead letter. */
const deathOf = (timer: Timer): ReadonlyArray<WriteItem> => [putOf(timer), outcomeOf(timer, died)]

const lettersOf = Effect.fnUntraced(function* (key: Pick<Timer, "namespace" | "timerId">) {
  const store = yield* TimerStore
  const { items } = yield* store.list({
    namespace: key.namespace,
    timerId: key.timerId,
    state: "dead",
    reversed: false,
    includePayload: true,
    limit: 100,
  })
  return items.flatMap((item): ReadonlyArray<FinishedLife> => (item.state === "pending" ? [] : [item.life]))
})

const dropLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a timer that is dropped ends as cancelled, with the reason, and leaves no dead letter", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer({ payload: new Uint8Array([1]), tags: ["t"] })
      yield* write([putOf(timer)])
      const { attemptLog: _, ...outcome } = outcomeOf(timer, { to: "dropped", reason: "expired" })
      expect(yield* write([outcome])).toEqual([{ result: "settled" }])
      const { pending, last } = yield* store.find(timer)
      expect(pending).toBeUndefined()
      expect(last).toMatchObject({ state: "cancelled", reason: "expired", attempts: 0, tags: ["t"] })
      expect(last).not.toHaveProperty("payload")
      expect(yield* lettersOf(timer)).toEqual([])
      expect(yield* store.tally).toMatchObject({ created: 1, cancelled: 1, dead: 0 })
      const { items } = yield* store.list({
        namespace: timer.namespace,
        state: "cancelled",
        reversed: false,
        includePayload: true,
        limit: 10,
      })
      expect(items).toMatchObject([{ state: "cancelled", life: { reason: "expired" } }])
    }),
  )

  law("a postponed timer fires later, with its attempts unchanged and the next revision", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      yield* write([putOf(timer)])
      const fireAt = timer.fireAt + 9
      const outcome = postponementOf(timer, fireAt)
      const postponed = { ...timer, revision: timer.revision + 1, fireAt, updatedAt: outcome.at }
      expect(yield* write([outcome])).toEqual([{ result: "settled", next: postponed }])
      expect((yield* store.find(timer)).pending).toEqual(postponed)
      yield* write([postponementOf(postponed, fireAt + 9)])
      // A repeat of the first postponement must not undo the second.
      yield* write([outcome])
      expect((yield* store.find(timer)).pending).toMatchObject({
        attempts: 0,
        revision: timer.revision + 2,
        fireAt: fireAt + 9,
      })
    }),
  )
}

const replayLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a replay arms the timer for now with all that it carried, and removes the dead letter", () =>
    Effect.gen(function* () {
      const { store, write, shardOf } = yield* owned
      const timer = sampleTimer({
        payload: new Uint8Array([0, 255, 7]),
        correlationId: "c-9",
        spec: { ...sampleTimer().spec, expireAfterMs: 5_000 },
      })
      yield* write(deathOf(timer))
      const replay = replayOf(timer, { at: later })
      const armed = timerIn(at(yield* write([replay]), 0))
      expect(armed).toEqual({
        ...timer,
        fireId: replay.fireId,
        revision: later,
        executeAt: later,
        fireAt: later,
        updatedAt: later,
      })
      expect(yield* store.find(timer)).toEqual({ pending: armed, last: undefined })
      expect(yield* lettersOf(timer)).toEqual([])
      const due = { exclusiveAfter: beginning, inclusiveUntilMs: later, limit: 10 }
      expect((yield* store.due({ ...due, shard: shardOf(timer) })).timers).toEqual([armed])
      expect(yield* store.tally).toMatchObject({
        created: 1,
        dead: 1,
        replayed: 1,
        discarded: 0,
        replaced: 0,
      })
    }),
  )

  law("a replay's revision is above those of all earlier lives, whatever the clock says", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timer = sampleTimer()
      yield* write(deathOf(timer))
      const next = samplePut({ timerId: timer.timerId, createdAt: later, fireAt: later })
      const answers = yield* write([next, cancelOf(timer), replayOf(timer, { at: sampleNow - 5 })])
      expect(answers.map(({ result }) => result)).toEqual(["created", "cancelled", "replayed"])
      expect(timerIn(answers[2]).revision).toBe(timerIn(answers[0]).revision + 2)
    }),
  )

  law("a key that is pending keeps its dead letter", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      const next = samplePut({ timerId: timer.timerId, createdAt: sampleNow + 9 })
      yield* write([...deathOf(timer), next])
      const before = { found: yield* store.find(timer), tally: yield* store.tally }
      expect(yield* write([replayOf(timer)])).toEqual([{ result: "skipped" }])
      expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(before)
      expect((yield* lettersOf(timer)).map(({ fireId }) => fireId)).toEqual([timer.fireId])
    }),
  )

  law("a replay takes the dead letter that it names, and other dead letters of the key stay", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const { timerId } = sampleTimer()
      const lives = [0, 1, 2].map((n) =>
        sampleTimer({ timerId, createdAt: sampleNow + n, payload: new Uint8Array([n]) }),
      )
      for (const life of lives) yield* write(deathOf(life))
      const [first, second, third] = yield* lettersOf(at(lives, 0))
      if (first === undefined || second === undefined || third === undefined) throw new Error("too few")
      expect([first, second, third].map(({ fireId }) => fireId)).toEqual(lives.map(({ fireId }) => fireId))
      const armed = timerIn(at(yield* write([replayOf(second)]), 0))
      expect(armed.payload).toEqual(new Uint8Array([1]))
      expect(yield* lettersOf(second)).toEqual([first, third])
      // The replayed timer ends like any other timer, and its dead letter can be replayed again.
      yield* write([outcomeOf(armed, died)])
      const letters = yield* lettersOf(second)
      expect(letters.map(({ fireId }) => fireId)).toEqual([first.fireId, third.fireId, armed.fireId])
      expect((yield* write([replayOf(at(letters, 2))]))[0]?.result).toBe("replayed")
    }),
  )

  law("a life that is not a dead letter cannot be replayed", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      yield* write([putOf(timer), outcomeOf(timer, delivered)])
      const before = { found: yield* store.find(timer), tally: yield* store.tally }
      const dead = sampleTimer()
      yield* write(deathOf(dead))
      const answers = yield* write([
        replayOf(timer),
        replayOf(sampleTimer()),
        replayOf({ ...dead, fireId: sampleId() }),
        replayOf({ ...dead, revision: dead.revision + 1 }),
      ])
      expect(answers).toEqual(answers.map(() => ({ result: "notFound" })))
      expect((yield* store.find(timer)).last).toEqual(before.found.last)
      expect((yield* store.find(dead)).last?.state).toBe("dead")
    }),
  )
}

const discardLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("a discard removes only the dead letter that it names, whether or not the key is pending", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      const next = sampleTimer({ timerId: timer.timerId, createdAt: sampleNow + 9 })
      yield* write([...deathOf(timer), ...deathOf(next)])
      const pending = timerIn(
        at(yield* write([samplePut({ timerId: timer.timerId, createdAt: sampleNow + 20 })]), 0),
      )
      expect(yield* write([discardOf(timer)])).toEqual([{ result: "discarded" }])
      expect((yield* lettersOf(timer)).map(({ fireId }) => fireId)).toEqual([next.fireId])
      expect((yield* store.find(timer)).pending).toEqual(pending)
      expect(yield* store.tally).toMatchObject({ created: 3, dead: 1, discarded: 1, replayed: 0 })
      yield* write([discardOf(next), cancelOf(timer)])
      expect(yield* lettersOf(timer)).toEqual([])
      expect(yield* store.tally).toMatchObject({ dead: 0, discarded: 2, cancelled: 1 })
    }),
  )

  law("a discarded dead letter is not found any more", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      yield* write([...deathOf(timer), discardOf(timer)])
      expect(yield* store.find(timer)).toEqual({ pending: undefined, last: undefined })
      const query = { namespace: timer.namespace, state: "dead", limit: 10 } as const
      expect(yield* store.count(query)).toEqual({ count: 0, capped: false })
      expect(yield* write([replayOf(timer), discardOf(timer)])).toEqual([
        { result: "notFound" },
        { result: "notFound" },
      ])
    }),
  )
}

const repeatLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const isRepeat = true

  law("a repeated replay changes nothing and gets the same answer, marked or not", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer({ payload: new Uint8Array([4]) })
      yield* write(deathOf(timer))
      const replay = replayOf(timer)
      const first = yield* write([replay])
      const state = { found: yield* store.find(timer), tally: yield* store.tally }
      expect(yield* write([replay])).toEqual(first)
      expect((yield* write([{ ...replay, isRepeat }, replay])).slice(1)).toEqual(first)
      expect({ found: yield* store.find(timer), tally: yield* store.tally }).toEqual(state)
      yield* write([outcomeOf(timerIn(first[0]), delivered)])
      expect(yield* write([replay, { ...replay, isRepeat }])).toEqual([
        { result: "alreadyReplayed" },
        { result: "alreadyReplayed" },
      ])
      expect((yield* store.find(timer)).pending).toBeUndefined()
    }),
  )

  law("a marked repeat is carried out if the dead letter exists, because then it was not done before", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const [one, two, three] = [sampleTimer(), sampleTimer(), sampleTimer()]
      yield* write([...deathOf(one), ...deathOf(two), ...deathOf(three)])
      yield* write([samplePut({ timerId: three.timerId, createdAt: sampleNow + 9 })])
      const answers = yield* write([
        { ...replayOf(one), isRepeat },
        { ...discardOf(two), isRepeat },
        { ...replayOf(three), isRepeat },
      ])
      expect(answers.map(({ result }) => result)).toEqual(["replayed", "discarded", "skipped"])
    }),
  )

  law("a marked repeat is unknown and does nothing if its dead letter and its timer are gone", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const [one, two] = [sampleTimer(), sampleTimer()]
      yield* write([...deathOf(one), ...deathOf(two)])
      const replay = replayOf(one)
      const discard = discardOf(two)
      yield* write([replay, changeOf(one, { executeAt: later + 5 }), discard])
      const state = { found: yield* store.find(one), tally: yield* store.tally }
      expect(yield* write([{ ...replay, isRepeat }])).toEqual([{ result: "unknown" }])
      expect(yield* write([{ ...discard, isRepeat }])).toEqual([{ result: "unknown" }])
      // The store knows nothing of the key, so the replay certainly did not arm it.
      expect(yield* write([{ ...replayOf(two), isRepeat }])).toEqual([{ result: "notFound" }])
      expect({ found: yield* store.find(one), tally: yield* store.tally }).toEqual(state)
    }),
  )

  law("each item of a batch sees the effects of the items before it", () =>
    Effect.gen(function* () {
      const { write } = yield* owned
      const timer = sampleTimer()
      const answers = yield* write([
        ...deathOf(timer),
        replayOf(timer),
        replayOf(timer),
        discardOf(timer),
        cancelOf(timer),
        samplePut({ timerId: timer.timerId, createdAt: later + 9 }),
      ])
      expect(answers.map(({ result }) => result)).toEqual([
        "created",
        "settled",
        "replayed",
        "notFound",
        "notFound",
        "cancelled",
        "created",
      ])
    }),
  )
}

const lookLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)

  law("dead letters of one id are listed by revision, in both directions, and counted", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const lives = [0, 1, 2, 3, 4].map((n) => sampleTimer({ timerId: "k", createdAt: sampleNow + n }))
      for (const life of lives) yield* write(deathOf(life))
      yield* write([...deathOf(sampleTimer({ timerId: "k1" })), ...deathOf(sampleTimer({ timerId: "j" }))])
      const query = {
        namespace: "shop",
        state: "dead",
        timerId: "k",
        includePayload: false,
        limit: 2,
      } as const
      const expected = lives.map(({ fireId }) => fireId)
      const pages = yield* walkList({ ...query, reversed: false })
      const fireIds = pages.flatMap(({ items }) =>
        items.map((item) => (item.state === "pending" ? "" : item.life.fireId)),
      )
      expect(fireIds).toEqual(expected)
      expect(idsOf(pages)).toEqual(lives.map(() => "k"))
      const { items } = yield* store.list({ ...query, reversed: true, limit: 1 })
      expect(items).toMatchObject([{ life: { fireId: expected.at(-1) } }])
      expect(yield* store.count({ ...query, limit: 10 })).toEqual({ count: 5, capped: false })
      expect(yield* store.count({ ...query, timerId: "absent", limit: 10 })).toEqual({
        count: 0,
        capped: false,
      })
    }),
  )
}

const logLaws = (fixture: StoreFixture): void => {
  const law = lawsOf(fixture)
  const logOf = (entries: number) =>
    Array.from({ length: entries }, (_, n) => ({
      at: sampleNow + n,
      durationMs: n,
      status: 500,
      error: "é",
      // The store returns any text of a receiver unchanged.
      answer: `\0\u001b[31m"\\ \u2028 ${"\ufffd".repeat(160)}${n}`,
    }))

  law("the log of an outcome is in what is pending, in finds, in due pages and in ended lives", () =>
    Effect.gen(function* () {
      const { store, write, shardOf } = yield* owned
      const timer = sampleTimer()
      yield* write([putOf(timer)])
      const retry = { to: "retry", fireAt: timer.fireAt + 9 } as const
      const retried = timerIn(at(yield* write([outcomeOf(timer, retry, { attemptLog: logOf(1) })]), 0))
      expect(retried).toMatchObject({ attempts: 1, firstAttemptAt: sampleNow, attemptLog: logOf(1) })
      const again = outcomeOf(retried, { to: "retry", fireAt: timer.fireAt + 19 }, { attemptLog: logOf(2) })
      const twice = timerIn(at(yield* write([again]), 0))
      expect(twice).toMatchObject({ attempts: 2, firstAttemptAt: sampleNow, attemptLog: logOf(2) })
      expect((yield* store.find(timer)).pending).toEqual(twice)
      const due = { exclusiveAfter: beginning, inclusiveUntilMs: timer.fireAt + 99, limit: 9 }
      expect((yield* store.due({ ...due, shard: shardOf(timer) })).timers).toEqual([twice])
      yield* write([outcomeOf(twice, died, { attemptLog: logOf(20) })])
      expect((yield* store.find(timer)).last).toMatchObject({ attempts: 3, attemptLog: logOf(20) })
      expect((yield* lettersOf(timer))[0]?.attemptLog).toEqual(logOf(20))
    }),
  )

  law("each arming has its own log: a re-arming, a change and a replay begin with an empty one", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      yield* write([putOf(timer)])
      const failed = outcomeOf(timer, { to: "retry", fireAt: timer.fireAt + 9 }, { attemptLog: logOf(2) })
      const first = timerIn(at(yield* write([failed]), 0))
      const then = { to: "rearmed", executeAt: later, fireId: sampleId(), latenessMs: 1 } as const
      const rearmed = timerIn(at(yield* write([outcomeOf(first, then, { attemptLog: logOf(3) })]), 0))
      expect(rearmed).not.toHaveProperty("attemptLog")
      expect(yield* store.find(timer)).toMatchObject({ pending: rearmed, last: { attemptLog: logOf(3) } })
      const retry = { to: "retry", fireAt: later + 9 } as const
      const retried = timerIn(at(yield* write([outcomeOf(rearmed, retry)]), 0))
      expect(retried.attemptLog).toHaveLength(1)
      const changed = timerIn(at(yield* write([changeOf(timer, { executeAt: later + 20 })]), 0))
      expect(changed).not.toHaveProperty("attemptLog")
      yield* write([outcomeOf(changed, died)])
      const replayed = timerIn(at(yield* write([replayOf(changed)]), 0))
      expect(replayed).not.toHaveProperty("attemptLog")
    }),
  )

  law("an attempt that was never made does not change the log", () =>
    Effect.gen(function* () {
      const { store, write } = yield* owned
      const timer = sampleTimer()
      yield* write([putOf(timer)])
      const retry = outcomeOf(timer, { to: "retry", fireAt: later }, { attemptLog: logOf(2) })
      const retried = timerIn(at(yield* write([retry]), 0))
      const { attemptLog: _, ...expired } = outcomeOf(retried, { to: "dead", reason: "expired" })
      yield* write([expired])
      expect((yield* store.find(timer)).last).toMatchObject({ attempts: 1, attemptLog: logOf(2) })
    }),
  )
}
