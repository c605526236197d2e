// The checker's view of dead letters that were replayed or discarded: what a replay or a discard explains, and what
// not.
import { describe, expect, test } from "bun:test"
import { emptyTally, type Tally } from "../../src/domain/Decision.ts"
import { type Answer, type Ask, HistoryRecorder, type StoreContents } from "../../testkit/History.ts"
import { checkInvariants } from "../../testkit/InvariantChecker.ts"

const key = { namespace: "shop", timerId: "t-1" }
const due = 10_000
const payload = new TextEncoder().encode("[1]")
const replay: Ask = { op: "replay", key }
const discard: Ask = { op: "discard", key }

/** A timer that was created and has died. */
const deadRun = () => {
  let nowMs = 1_000
  const recorder = new HistoryRecorder(() => nowMs++)
  const asks = (request: Ask, answer?: Answer) => {
    const ask = recorder.asked(request)
    if (answer !== undefined) recorder.answered(ask, answer)
  }
  const attempts = (fireId: string, revision: number, result: "dead" | "delivered", bytes = payload) => {
    nowMs = Math.max(nowMs, due)
    const attempt = { attempt: 1, epoch: 1, executeAtMs: due, firedAtMs: nowMs, beganAtMs: nowMs }
    recorder.replied(recorder.attempted({ key, fireId, revision, payload: bytes, ...attempt }), { result })
  }
  asks({ op: "create", key, executeAtMs: due, payload }, { result: "created", fireId: "f1", revision: 1 })
  attempts("f1", 1, "dead")
  const violations = (finished: StoreContents["finished"], tally: Partial<Tally>) =>
    checkInvariants({
      events: recorder.events,
      final: { pending: [], finished, tally: { ...emptyTally, created: 1, dead: 1, ...tally } },
      dueUntilMs: 50_000,
    }).map(({ invariant }) => invariant)
  return { asks, attempts, violations }
}

const delivered = [{ key, fireId: "f2", revision: 2, state: "delivered" }] as const

describe("a missing dead letter", () => {
  test("is explained by a replay, known or not, and so is the timer that it armed", () => {
    for (const answer of [{ result: "replayed" } as const, undefined]) {
      const { asks, attempts, violations } = deadRun()
      asks(replay, answer)
      attempts("f2", 2, "delivered")
      expect(violations(delivered, { replayed: 1, delivered: 1 })).toEqual([])
    }
  })

  test("is explained by a discard, known or not", () => {
    for (const answer of [{ result: "discarded" } as const, undefined]) {
      const { asks, violations } = deadRun()
      asks(discard, answer)
      expect(violations([], { dead: 0, discarded: 1 })).toEqual([])
    }
  })

  test("is lost without a request, or if the answer was that nothing was done", () => {
    expect(deadRun().violations([], { dead: 0, discarded: 1 })).toEqual(["noLoss"])
    const { asks, violations } = deadRun()
    asks(replay, { result: "nothingDone", because: "no dead letter" })
    expect(violations([], { dead: 0, discarded: 1 })).toEqual(["noLoss"])
  })

  test("is missed by the tally, for any request", () => {
    const { asks, violations } = deadRun()
    asks(discard, { result: "discarded" })
    expect(violations([], {})).toEqual(["conservation"])
  })
})

describe("the timer that a replay armed", () => {
  test("is one arming for each replay", () => {
    const { asks, attempts, violations } = deadRun()
    asks(replay, { result: "replayed" })
    attempts("f2", 2, "dead")
    attempts("f3", 3, "delivered")
    const lives = [{ ...delivered[0], fireId: "f3", revision: 3 }]
    expect(violations(lives, { dead: 2, replayed: 2, delivered: 1 })).toEqual(["boundedRepeats"])
  })

  test("carries the contents of the dead one", () => {
    const { asks, attempts, violations } = deadRun()
    asks(replay, { result: "replayed" })
    attempts("f2", 2, "delivered", new TextEncoder().encode("[2]"))
    expect(violations(delivered, { replayed: 1, delivered: 1 })).toEqual(["integrity"])
  })
})
