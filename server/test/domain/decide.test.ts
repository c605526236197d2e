// Laws of the decisions themselves, without a store.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Known } from "../../src/domain/Decision.ts"
import {
  decideCancel,
  decideChange,
  decideOutcome,
  decidePut,
  decideRecord,
  decideSchedule,
} from "../../src/domain/decide.ts"
import { endOfLife } from "../../src/domain/endOfLife.ts"
import type { FinishedLife, Timer } from "../../src/domain/Timer.ts"
import type { ScheduleAnswer, Then } from "../../src/domain/WriteItem.ts"
import {
  cancelOf,
  changeOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  sampleSpec,
  sampleTimer,
  scheduleOf,
} from "../../testkit/timers.ts"

const nothing: Known = { pending: undefined, last: undefined }
const key = { timerId: "k" }
const pendingTimer = (given: Partial<Timer> = {}): Timer => sampleTimer({ ...key, ...given })
const lifeOf = (timer: Timer, state: FinishedLife["state"] = "delivered"): FinishedLife =>
  endOfLife(timer, state, sampleNow + 50)

const instants = fc.integer({ min: sampleNow - 10_000, max: sampleNow + 10_000 })

describe("terms of an arming", () => {
  const onDead = { type: "event" } as const
  const death = { timerId: "a", fireId: "f", revision: 1, executeAt: 2, reason: "refused", attempts: 1 }
  const spec = { ...sampleSpec, expireAfterMs: 5, onExpire: "drop", onDead, death } as const
  const after = (set: Parameters<typeof changeOf>[1]) =>
    decideChange(changeOf(pendingTimer(), set), { pending: pendingTimer({ spec }), last: undefined }).pending
      ?.spec

  test("stay through a change of others, and are set and cleared by their names", () => {
    expect(after({ executeAt: 1 })).toBe(spec)
    const retryPolicy = { ...sampleSpec.retryPolicy, maxAttempts: 2 }
    expect(after({ retryPolicy })).toEqual({ ...spec, retryPolicy })
    expect(after({ expireAfterMs: 9 })).toEqual({ ...spec, expireAfterMs: 9 })
    const { onExpire: _, ...keeping } = spec
    expect(after({ expireAfterMs: 5, onExpire: "dead" })).toEqual(keeping)
    const { expireAfterMs: __, ...lasting } = keeping
    expect(after({ expireAfterMs: null })).toEqual(lasting)
    const { onDead: ___, ...untold } = spec
    expect(after({ onDead: null })).toEqual(untold)
  })

  test("a create that differs only in its trace asks for the same, and one that differs in onDead does not", () => {
    const pending = pendingTimer({ traceparent: "00-a-b-01" })
    const known = { pending, last: undefined }
    const again = { ...pending, fireId: sampleId() }
    expect(decidePut(putOf({ ...again, traceparent: "00-c-d-01" }), known).answer.result).toBe("unchanged")
    const told = { ...again, spec: { ...again.spec, onDead } }
    expect(decidePut(putOf(told), known).answer.result).toBe("replaced")
  })
})

describe("put", () => {
  test("on a free key creates a timer, with a revision above every earlier one", () => {
    fc.assert(
      fc.property(
        instants,
        instants,
        fc.option(instants, { nil: undefined }),
        (createdAt, executeAt, revision) => {
          const timer = pendingTimer({ createdAt, executeAt: sampleNow + 1e9 + executeAt })
          const last = revision === undefined ? undefined : { ...lifeOf(pendingTimer()), revision }
          const { answer, pending, tally } = decidePut(putOf(timer), { pending: undefined, last })
          expect(answer.result).toBe("created")
          expect(pending?.revision).toBe(Math.max(createdAt, (revision ?? 0) + 1))
          expect(tally).toEqual({ created: 1 })
        },
      ),
    )
  })

  test("on a pending key follows onExisting: replace arms again and keeps the creation time", () => {
    const pending = pendingTimer({ createdAt: sampleNow - 99, attempts: 3 })
    const next = pendingTimer({ executeAt: sampleNow + 1, fireAt: sampleNow + 1 })
    const replaced = decidePut(putOf(next), { pending, last: undefined })
    expect(replaced.answer.result).toBe("replaced")
    expect(replaced.pending).toEqual({ ...next, createdAt: sampleNow - 99, revision: pending.revision + 1 })
    expect(replaced.tally).toEqual({ created: 1, replaced: 1 })
    for (const [rule, result] of [
      ["keep", "unchanged"],
      ["fail", "exists"],
    ] as const) {
      const decision = decidePut(putOf(next, rule), { pending, last: undefined })
      expect(decision).toEqual({ answer: { result, timer: pending } })
    }
  })

  test("that equals the pending timer arms nothing, and any difference arms it", () => {
    const payload = new Uint8Array([1, 2])
    const pending = pendingTimer({ payload })
    const same = {
      executeAt: pending.executeAt,
      payload: new Uint8Array([1, 2]),
      spec: structuredClone(sampleSpec),
    }
    const resultOf = (given: Partial<Timer>, madeCorrelationId = false) =>
      decidePut(
        { ...putOf(pendingTimer({ ...same, ...given })), madeCorrelationId },
        { pending, last: undefined },
      ).answer.result
    expect(resultOf({})).toBe("unchanged")
    expect(resultOf({ tags: ["a"] })).toBe("replaced")
    expect(resultOf({ correlationId: "other" }, true)).toBe("unchanged")
    expect(resultOf({ correlationId: "other" })).toBe("replaced")
    expect(resultOf({ executeAt: pending.executeAt + 1 })).toBe("replaced")
    expect(resultOf({ payload: new Uint8Array([1, 3]) })).toBe("replaced")
    expect(resultOf({ payload: new Uint8Array([1]) })).toBe("replaced")
    expect(resultOf({ spec: { ...sampleSpec, expireAfterMs: 1 } })).toBe("replaced")
  })

  test("that repeats a finished life is answered so only if its instant is not in the future", () => {
    const past = pendingTimer({ executeAt: sampleNow - 1, fireAt: sampleNow - 1 })
    const known = { pending: undefined, last: lifeOf(past) }
    const repeated = decidePut(putOf(pendingTimer({ executeAt: sampleNow - 1 })), known)
    expect(repeated).toEqual({ answer: { result: "alreadyFinished", life: known.last } })
    expect(decidePut(putOf(pendingTimer({ executeAt: sampleNow - 2 })), known).answer.result).toBe("created")
    const future = pendingTimer({ executeAt: sampleNow + 5 })
    const again = decidePut(putOf(pendingTimer({ executeAt: sampleNow + 5 })), {
      pending: undefined,
      last: lifeOf(future),
    })
    expect(again.answer.result).toBe("created")
  })
})

describe("change and cancel", () => {
  test("under another revision change nothing and answer the current one", () => {
    const pending = pendingTimer({ revision: 7 })
    const expected = { answer: { result: "revisionMismatch", revision: 7 } } as const
    expect(decideChange(changeOf(pending, {}, { ifRevision: 6 }), { pending, last: undefined })).toEqual(
      expected,
    )
    expect(decideCancel(cancelOf(pending, { ifRevision: 8 }), { pending, last: undefined })).toEqual(expected)
  })

  test("of an arming in flight: a change is refused, and a cancel ends what would follow", () => {
    const pending = pendingTimer()
    const inFlight = pending.fireId
    expect(decideChange(changeOf(pending, {}, { inFlight }), { pending, last: undefined })).toEqual({
      answer: { result: "inFlight" },
    })
    const cancelled = decideCancel(cancelOf(pending, { inFlight }), { pending, last: undefined })
    expect(cancelled).toMatchObject({
      answer: { result: "inFlight" },
      pending: null,
      finished: { state: "cancelled" },
    })
  })

  test("of a missing timer, or of an ended life, say so", () => {
    const timer = pendingTimer()
    expect(decideChange(changeOf(timer, {}), nothing).answer.result).toBe("notFound")
    expect(decideCancel(cancelOf(timer), nothing).answer.result).toBe("notFound")
    for (const [state, result] of [
      ["delivered", "alreadyDelivered"],
      ["cancelled", "alreadyCancelled"],
      ["dead", "alreadyDead"],
    ] as const) {
      const decision = decideCancel(cancelOf(timer), { pending: undefined, last: lifeOf(timer, state) })
      expect(decision).toEqual({ answer: { result } })
    }
  })

  test("a change restarts the attempts under a new fireId", () => {
    const pending = pendingTimer({ attempts: 4, firstAttemptAt: 1, attemptLog: [{ at: 1, durationMs: 1 }] })
    const change = changeOf(pending, { executeAt: sampleNow + 3 })
    const { pending: next } = decideChange(change, { pending, last: undefined })
    expect(next).toMatchObject({
      attempts: 0,
      fireId: change.fireId,
      fireAt: sampleNow + 3,
      executeAt: sampleNow + 3,
    })
    expect(next).not.toHaveProperty("attemptLog")
    expect(next).not.toHaveProperty("firstAttemptAt")
  })
})

describe("a marked repeat", () => {
  const executeAt = sampleNow + 9
  const put = { ...putOf(pendingTimer({ executeAt })), isRepeat: true } as const
  const change = changeOf(put.timer, { executeAt }, { isRepeat: true })
  const cancel = cancelOf(put.timer, { isRepeat: true })
  const unknown = { answer: { result: "unknown" } } as const
  /** Any state of a key that other nodes may have written, without a trace of these items. */
  const known = fc
    .record({
      pending: fc.option(
        fc.nat(9).map((n) => pendingTimer({ executeAt: executeAt + n })),
        { nil: undefined },
      ),
      last: fc.option(
        fc
          .tuple(fc.constantFrom("delivered", "cancelled", "dead"), fc.nat(9))
          .map(([state, n]) => lifeOf(pendingTimer({ executeAt: executeAt + n }), state)),
        { nil: undefined },
      ),
    })
    .filter(({ pending, last }) => pending !== undefined || last !== undefined)

  test("that left no trace on a used key is not carried out, and its answer is unknown", () => {
    fc.assert(
      fc.property(
        known,
        fc.constantFrom("replace", "keep", "fail"),
        fc.boolean(),
        (there, onExisting, isInFlight) => {
          const inFlight = isInFlight && there.pending ? { inFlight: there.pending.fireId } : {}
          expect(decidePut({ ...put, onExisting }, there)).toEqual(unknown)
          expect(decideChange({ ...change, ...inFlight }, there)).toEqual(unknown)
          expect(decideCancel({ ...cancel, ...inFlight }, there)).toEqual(unknown)
        },
      ),
    )
  })

  test("on an unused key is carried out like a first one", () => {
    expect(decidePut(put, nothing)).toEqual(decidePut(putOf(put.timer), nothing))
    expect(decideChange(change, nothing)).toEqual({ answer: { result: "notFound" } })
    expect(decideCancel(cancel, nothing)).toEqual({ answer: { result: "notFound" } })
  })

  test("that finds its own trace gets the same answer, and does nothing more", () => {
    fc.assert(
      fc.property(known, ({ pending: next, last: before }) => {
        const mine = { pending: put.timer, last: before }
        expect(decidePut(put, mine)).toEqual({ answer: { result: "created", timer: put.timer } })
        const ended = { pending: next, last: lifeOf(put.timer) }
        expect(decidePut(put, ended)).toEqual({ answer: { result: "alreadyFinished", life: ended.last } })
        const changed = { ...put.timer, fireId: change.fireId }
        expect(decideChange(change, { ...mine, pending: changed })).toEqual({
          answer: { result: "changed", timer: changed },
        })
        const cancelled = { ...lifeOf(put.timer, "cancelled"), endedBy: cancel.cancelId }
        expect(decideCancel(cancel, { pending: next, last: cancelled })).toEqual({
          answer: { result: "cancelled" },
        })
        expect(
          decideCancel({ ...cancel, inFlight: put.timer.fireId }, { pending: next, last: cancelled }),
        ).toEqual({
          answer: { result: "inFlight" },
        })
      }),
    )
  })

  test("of a change whose arming has ended is unknown", () => {
    const ended = lifeOf({ ...put.timer, fireId: change.fireId })
    expect(decideChange(change, { pending: undefined, last: ended })).toEqual(unknown)
  })
})

type Because = Extract<ScheduleAnswer, { result: "ignored" }>["because"]

describe("schedule", () => {
  const askedAt = sampleNow + 100
  const later = sampleNow + 7_200_000
  const asking = (given: Partial<Timer> = {}, rest: Parameters<typeof scheduleOf>[1] = {}) =>
    scheduleOf(pendingTimer({ createdAt: sampleNow + 9, updatedAt: sampleNow + 9, askedAt, ...given }), rest)
  const ignored = (because: Because) => ({ answer: { result: "ignored", because } }) as const

  test("on an unknown key creates a timer, as a put does", () => {
    const item = asking()
    const put = decidePut(putOf(item.timer), nothing)
    expect(decideSchedule(item, nothing)).toEqual({
      ...put,
      answer: { result: "created", timer: { ...item.timer, revision: sampleNow + 9 } },
    })
    expect(put.tally).toEqual({ created: 1 })
  })

  test("moves a pending timer, and keeps everything except its due time", () => {
    const pending = pendingTimer({
      payload: new Uint8Array([1]),
      spec: { ...sampleSpec, expireAfterMs: 5 },
      createdAt: sampleNow - 99,
    })
    const item = asking({ executeAt: later, correlationId: "given" })
    const decision = decideSchedule(item, { pending, last: lifeOf(pending) })
    expect(decision.pending).toEqual({
      ...pending,
      executeAt: later,
      fireAt: later,
      fireId: item.timer.fireId,
      revision: pending.revision + 1,
      updatedAt: sampleNow + 9,
      askedAt,
      correlationId: "given",
    })
    expect(decision.answer).toEqual({ result: "moved", timer: decision.pending ?? pending })
    expect(decision.tally).toEqual({ created: 1, replaced: 1 })
    expect(decision.payloadChanged ?? false).toBe(false)
    const made = decideSchedule({ ...item, madeCorrelationId: true }, { pending, last: undefined })
    expect(made.pending?.correlationId).toBe(pending.correlationId)
  })

  test("of the current due time arms nothing, and is stored if it is newer", () => {
    const pending = pendingTimer({ askedAt: askedAt - 1 })
    const known = { pending, last: undefined }
    const confirmed = { ...pending, askedAt }
    const answer = { result: "unchanged", timer: confirmed } as const
    expect(decideSchedule(asking(), known)).toEqual({ answer, pending: confirmed })
    expect(decideSchedule(asking(), { ...known, pending: confirmed })).toEqual({ answer })
    const other = { correlationId: "other" }
    expect(decideSchedule(asking(other, { madeCorrelationId: true }), known).answer).toEqual(answer)
    expect(decideSchedule(asking(other), known)).toMatchObject({
      answer: { result: "moved" },
      pending: { executeAt: pending.executeAt, correlationId: "other" },
    })
  })

  test("of a timer that has begun to fire, or has finished, is ignored", () => {
    const pending = pendingTimer()
    const inFlight = pending.fireId
    const item = asking({ executeAt: later }, { inFlight })
    expect(decideSchedule(item, { pending, last: undefined })).toEqual(ignored("inFlight"))
    // The attempt that ran when the item was queued belonged to another arming.
    const armedSince = { pending: pendingTimer(), last: lifeOf(pending) }
    expect(decideSchedule(item, armedSince).answer.result).toBe("moved")
    const retrying = { pending: pendingTimer({ attempts: 1 }), last: undefined }
    expect(decideSchedule(item, retrying)).toEqual(ignored("retrying"))
    for (const state of ["delivered", "cancelled", "dead"] as const) {
      for (const ended of [pendingTimer(), pendingTimer({ fireId: item.timer.fireId, executeAt: later })]) {
        const known = { pending: undefined, last: lifeOf(ended, state) }
        expect(decideSchedule(item, known)).toEqual(ignored("finished"))
      }
    }
  })

  test("is outdated if the pending timer was asked for, or set by other means, after it was sent", () => {
    fc.assert(
      fc.property(
        instants,
        fc.option(instants, { nil: undefined }),
        instants,
        fc.boolean(),
        (sent, before, updatedAt, isSame) => {
          const pending = pendingTimer({ updatedAt, ...(before === undefined ? {} : { askedAt: before }) })
          const item = asking({ askedAt: sent, executeAt: isSame ? pending.executeAt : later })
          const decision = decideSchedule(item, { pending, last: undefined })
          if (sent < (before ?? updatedAt)) expect(decision).toEqual(ignored("outdated"))
          else expect(decision.answer).toMatchObject({ timer: { askedAt: sent } })
        },
      ),
    )
  })

  test("that is repeated unchanged gets the same answer, whatever runs by then", () => {
    for (const [known, result] of [
      [nothing, "created"],
      [{ pending: pendingTimer(), last: undefined }, "moved"],
    ] as const) {
      const item = asking({ executeAt: later })
      const { answer, pending } = decideSchedule(item, known)
      expect(answer.result).toBe(result)
      const repeated = { ...item, inFlight: item.timer.fireId }
      expect(decideSchedule(repeated, { pending: pending ?? undefined, last: undefined })).toEqual({ answer })
    }
  })

  test("is void once another arming has replaced its own; a retry is the same arming", () => {
    const pending = pendingTimer({ askedAt })
    const known = { pending, last: undefined }
    const next = { to: "rearmed", executeAt: later, fireId: sampleId(), latenessMs: 0 } as const
    expect(decidePut(putOf(pendingTimer({ executeAt: later })), known).pending).not.toHaveProperty("askedAt")
    expect(decideChange(changeOf(pending, { executeAt: later }), known).pending).not.toHaveProperty("askedAt")
    expect(decideOutcome(outcomeOf(pending, next), known).pending).not.toHaveProperty("askedAt")
    const retry = decideOutcome(outcomeOf(pending, { to: "retry", fireAt: later }), known)
    expect(retry.pending?.askedAt).toBe(askedAt)
  })
})

const thens = fc.constantFrom<Then>(
  delivered,
  { to: "retry", fireAt: sampleNow + 9 },
  { to: "rearmed", executeAt: sampleNow + 9, fireId: sampleId(), latenessMs: 0 },
  { to: "dead", reason: "refused" },
)

describe("outcome", () => {
  test("applies only to its arming and attempt; any other is stale and changes nothing", () => {
    fc.assert(
      fc.property(thens, fc.nat(5), fc.nat(5), fc.boolean(), (then, attempts, before, isOther) => {
        const pending = pendingTimer({ attempts })
        const fired = isOther ? { ...pending, fireId: sampleId() } : pending
        const outcome = outcomeOf(fired, then, { attempt: before + 1 })
        const decision = decideOutcome(outcome, { pending, last: undefined })
        const applies = !isOther && before === attempts
        const isRepeat =
          !isOther && then.to === "retry" && attempts === before + 1 && pending.fireAt === then.fireAt
        expect(decision.answer.result).toBe(applies || isRepeat ? "settled" : "stale")
        expect(decision.pending !== undefined).toBe(applies)
      }),
    )
  })

  test("keeps the payload of dead letters and of timers that continue, and no other", () => {
    const payload = new Uint8Array([1])
    const pending = pendingTimer({ payload })
    const decide = (then: Then) => decideOutcome(outcomeOf(pending, then), { pending, last: undefined })
    expect(decide(delivered).finished).not.toHaveProperty("payload")
    expect(decide({ to: "dead", reason: "refused" }).finished?.payload).toBe(payload)
    expect(decide({ to: "retry", fireAt: 1 })).toMatchObject({ pending: { payload } })
    expect(decide({ to: "retry", fireAt: 1 }).payloadChanged ?? false).toBe(false)
  })

  test("does not count an attempt that was never made", () => {
    const pending = pendingTimer({ attempts: 0 })
    const { attemptLog: _, ...expired } = outcomeOf(pending, { to: "dead", reason: "expired" })
    const { finished } = decideOutcome(expired, { pending, last: undefined })
    expect(finished).toMatchObject({ state: "dead", reason: "expired", attempts: 0 })
    expect(finished).not.toHaveProperty("attemptLog")
  })
})

describe("record", () => {
  test("moves an arming in the tally from its old end to its new one, once", () => {
    const life = lifeOf(pendingTimer())
    const added = decideRecord({ kind: "record", life }, undefined)
    expect(added).toMatchObject({ addsOnce: true, tally: { replaced: -1, delivered: 1 } })
    const cancelled = { ...life, state: "cancelled", revision: life.revision + 1, endedBy: "c" } as const
    const corrected = decideRecord({ kind: "record", life }, cancelled)
    expect(corrected).toMatchObject({
      corrects: cancelled,
      tally: { cancelled: -1, delivered: 1 },
      finished: { state: "delivered", revision: life.revision + 1, endedBy: "c" },
    })
    expect(decideRecord({ kind: "record", life }, life).tally).toEqual({})
    expect(decideRecord({ kind: "record", life }, { ...life, state: "dead" }).finished).toBeUndefined()
  })
})
