import { describe, expect, test } from "bun:test"
import { emptyTally, type Tally } from "../../src/domain/Decision.ts"
import {
  type Answer,
  type Ask,
  type Attempt,
  type History,
  HistoryRecorder,
  type Key,
  type Reply,
  type StoreContents,
  type StoredLife,
  type StoredPending,
} from "../../testkit/History.ts"
import { checkInvariants, describeViolations } from "../../testkit/InvariantChecker.ts"
import type { Invariant } from "../../testkit/Violation.ts"

const key: Key = { namespace: "shop", timerId: "t-1" }
const due = 10_000
const payload = bytesOf('{"n":1}')

/** A run step by step, with one millisecond for each step. The contents of its store come at the end. */
class Run {
  nowMs = 1_000
  readonly recorder = new HistoryRecorder(() => this.nowMs++)

  asks(request: Ask, answer?: Answer): this {
    const ask = this.recorder.asked(request)
    if (answer !== undefined) this.recorder.answered(ask, answer)
    return this
  }

  creates(fireId: string, revision = 1, given: { executeAtMs?: number; payload?: Uint8Array } = {}): this {
    const result = revision === 1 ? "created" : "replaced"
    return this.asks(create(given), { result, fireId, revision })
  }

  attempts(attempt: Partial<Attempt> & { fireId: string }, reply?: Reply): this {
    this.nowMs = Math.max(this.nowMs, due)
    const delivery = this.recorder.attempted({
      key,
      attempt: 1,
      epoch: 1,
      revision: 1,
      executeAtMs: due,
      firedAtMs: attempt.firedAtMs ?? Math.max(this.nowMs, attempt.executeAtMs ?? due),
      beganAtMs: attempt.beganAtMs ?? this.nowMs,
      payload,
      ...attempt,
    })
    if (reply !== undefined) this.recorder.replied(delivery, reply)
    return this
  }

  restarts(): this {
    this.recorder.node("killed", "a")
    this.recorder.node("started", "a")
    return this
  }

  ends(store: Partial<Omit<StoreContents, "tally">> & { tally: Partial<Tally> }): History {
    const tally = { ...emptyTally, ...store.tally }
    return {
      events: this.recorder.events,
      final: { pending: [], finished: [], ...store, tally },
      dueUntilMs: 50_000,
    }
  }
}

const create = (given: { executeAtMs?: number; payload?: Uint8Array } = {}): Ask => ({
  op: "create",
  key,
  executeAtMs: due,
  payload,
  ...given,
})
const cancel: Ask = { op: "cancel", key }
const moveTo = (executeAtMs: number): Ask => ({ op: "update", key, executeAtMs })
const delivered: Reply = { result: "delivered" }

const life = (fireId: string, state: StoredLife["state"], revision = 1): StoredLife => ({
  key,
  fireId,
  revision,
  state,
})
const waiting = (fireId: string, fireAtMs: number, revision = 1): StoredPending => ({
  key,
  fireId,
  revision,
  fireAtMs,
  payload,
})

const deliveredOnce = { finished: [life("f1", "delivered")], tally: { created: 1, delivered: 1 } }
const cancelledOnce = { finished: [life("f1", "cancelled")], tally: { created: 1, cancelled: 1 } }

const finds = (history: History): ReadonlyArray<Invariant> => checkInvariants(history).map((v) => v.invariant)

describe("a good run passes", () => {
  test("when a timer is delivered at its first attempt", () => {
    const run = new Run().creates("f1").attempts({ fireId: "f1" }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual([])
  })

  test("when an attempt is retried as its target asked", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "retry", notBeforeMs: due + 500 })
      .attempts({ fireId: "f1", attempt: 2, firedAtMs: due + 500 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual([])
  })

  test("when a restart repeats an attempt whose outcome was not stored", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, delivered)
      .restarts()
      .attempts({ fireId: "f1", epoch: 2 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual([])
  })

  test("when an acknowledged cancel, move or replacement ended an arming", () => {
    const run = new Run()
      .creates("f1")
      .asks(moveTo(20_000), { result: "changed", fireId: "f2", revision: 2 })
      .creates("f3", 3, { executeAtMs: 30_000 })
      .asks(cancel, { result: "cancelled" })
    const tally = { created: 3, replaced: 2, cancelled: 1 }
    expect(finds(run.ends({ finished: [life("f3", "cancelled", 4)], tally }))).toEqual([])
  })

  test("when unknown requests happened, each of them once", () => {
    const run = new Run()
      .creates("f1")
      .asks(create({ executeAtMs: 20_000 }))
      .attempts({ fireId: "f2", revision: 2, executeAtMs: 20_000 }, delivered)
      .asks(create({ executeAtMs: 90_000 }))
    const finished = [life("f2", "delivered", 2)]
    const tally = { created: 3, replaced: 1, delivered: 1 }
    expect(finds(run.ends({ pending: [waiting("f3", 90_000, 3)], finished, tally }))).toEqual([])
  })

  test("when unknown requests never happened", () => {
    const run = new Run()
      .creates("f1")
      .asks(cancel)
      .asks(moveTo(20_000))
      .attempts({ fireId: "f1" }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual([])
  })

  test("when a target arms its timer again, with or without a new payload", () => {
    const next = bytesOf('{"n":2}')
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "rearmed", payload: next })
      .attempts({ fireId: "f2", revision: 2, executeAtMs: 12_000, payload: next }, { result: "rearmed" })
      .attempts({ fireId: "f3", revision: 3, executeAtMs: 14_000, payload: next }, { result: "dead" })
    const finished = [life("f1", "delivered"), life("f2", "delivered", 2), life("f3", "dead", 3)]
    const tally = { created: 1, rearmed: 2, delivered: 2, dead: 1 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when a re-arming is moved before anyone saw it", () => {
    const next = bytesOf('{"n":2}')
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "rearmed", payload: next })
      .asks(moveTo(13_000), { result: "changed", fireId: "f3", revision: 3 })
      .attempts({ fireId: "f3", revision: 3, executeAtMs: 13_000, payload: next }, delivered)
    const finished = [life("f1", "delivered"), life("f3", "delivered", 3)]
    const tally = { created: 2, rearmed: 1, replaced: 1, delivered: 2 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when a later update keeps what an unknown move has set", () => {
    const other = bytesOf('{"n":2}')
    const run = new Run()
      .creates("f1")
      .asks(moveTo(20_000))
      .asks({ op: "update", key, payload: other }, { result: "changed", fireId: "f3", revision: 3 })
      .attempts({ fireId: "f3", revision: 3, executeAtMs: 20_000, payload: other }, delivered)
    const tally = { created: 3, replaced: 2, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f3", "delivered", 3)], tally }))).toEqual([])
  })

  test("when a key begins again after a discard, by a clock that was set back", () => {
    const run = new Run()
      .creates("f1", 9)
      .attempts({ fireId: "f1", revision: 9 }, { result: "dead" })
      .asks({ op: "discard", key }, { result: "discarded" })
      .asks(create({ executeAtMs: 20_000 }), { result: "created", fireId: "f2", revision: 5 })
      .attempts({ fireId: "f2", revision: 5, executeAtMs: 20_000 }, delivered)
    const tally = { created: 2, discarded: 1, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f2", "delivered", 5)], tally }))).toEqual([])
  })

  test("when an update after such a beginning changes only the time, and keeps the payload of the new life", () => {
    const other = bytesOf('{"n":2}')
    const run = new Run()
      .creates("f1", 8)
      .asks(moveTo(due), { result: "changed", fireId: "f2", revision: 9 })
      .attempts({ fireId: "f2", revision: 9 }, { result: "dead" })
      .asks({ op: "discard", key }, { result: "discarded" })
      .asks(create({ payload: other }), { result: "created", fireId: "f3", revision: 8 })
      .asks(moveTo(20_000), { result: "changed", fireId: "f4", revision: 9 })
      .attempts({ fireId: "f4", revision: 9, executeAtMs: 20_000, payload: other }, delivered)
    const tally = { created: 4, replaced: 2, discarded: 1, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f4", "delivered", 9)], tally }))).toEqual([])
  })

  test("when a timer is armed again a hundred times, and moved in between", () => {
    const run = new Run().creates("f1")
    for (let n = 1; n < 200; n += 2) {
      run.attempts({ fireId: `f${n}`, revision: n }, { result: "rearmed" })
      run.asks(moveTo(due), { result: "changed", fireId: `f${n + 2}`, revision: n + 2 })
    }
    run.attempts({ fireId: "f201", revision: 201 }, delivered)
    const finished = Array.from({ length: 101 }, (_, n) => life(`f${2 * n + 1}`, "delivered", 2 * n + 1))
    const tally = { created: 101, rearmed: 100, replaced: 100, delivered: 101 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when a timer that was replaced in flight is cancelled in the history, long after a cancel", () => {
    const run = new Run()
      .asks(create())
      .asks(cancel, { result: "cancelled" })
      .asks(create(), { result: "created", fireId: "f2", revision: 2 })
      .attempts({ fireId: "f2", revision: 2 }, { result: "retry" })
      .creates("f3", 3)
      .attempts({ fireId: "f3", revision: 3 }, delivered)
    const finished = [life("f1", "cancelled"), life("f2", "cancelled", 2), life("f3", "delivered", 3)]
    const tally = { created: 3, cancelled: 2, delivered: 1 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when a replayed timer is replaced in flight, long after a cancel of another timer", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "dead" })
      .asks(create())
      .asks(cancel, { result: "cancelled" })
      .asks({ op: "replay", key }, { result: "replayed" })
      .attempts({ fireId: "f3", revision: 3 }, { result: "retry" })
      .creates("f4", 4)
      .attempts({ fireId: "f4", revision: 4 }, delivered)
    const finished = [life("f2", "cancelled", 2), life("f3", "cancelled", 3), life("f4", "delivered", 4)]
    const tally = { created: 3, replayed: 1, dead: 1, cancelled: 2, delivered: 1 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when a timer that was created beside a cancel, but after it, is replaced in flight", () => {
    const run = new Run().creates("f1")
    const [cancels, creates] = [run.recorder.asked(cancel), run.recorder.asked(create())]
    run.recorder.answered(cancels, { result: "cancelled" })
    run.recorder.answered(creates, { result: "created", fireId: "f2", revision: 2 })
    run
      .attempts({ fireId: "f2", revision: 2 }, { result: "retry" })
      .creates("f3", 3)
      .attempts({ fireId: "f3", revision: 3 }, delivered)
    const finished = [life("f1", "cancelled"), life("f2", "cancelled", 2), life("f3", "delivered", 3)]
    const tally = { created: 3, cancelled: 2, delivered: 1 }
    expect(finds(run.ends({ finished, tally }))).toEqual([])
  })

  test("when the attempt of a cancelled timer had begun on a process that was killed", () => {
    const run = new Run().creates("f1")
    run.nowMs = due
    run
      .restarts()
      .asks(cancel, { result: "cancelled" })
      .attempts({ fireId: "f1", beganAtMs: due, firedAtMs: due })
    expect(finds(run.ends(cancelledOnce))).toEqual([])
  })
})

describe("no loss", () => {
  test("an acknowledged timer that is nowhere is lost", () => {
    expect(finds(new Run().creates("f1").ends({ tally: { created: 1, replaced: 1 } }))).toEqual(["noLoss"])
  })

  test("a timer that is still pending long after it was due is lost", () => {
    const run = new Run().creates("f1")
    expect(finds(run.ends({ pending: [waiting("f1", due)], tally: { created: 1 } }))).toEqual(["noLoss"])
    expect(finds(run.ends({ pending: [waiting("f1", 90_000)], tally: { created: 1 } }))).toEqual([])
  })

  test("a timer that is delivered in the store must have arrived", () => {
    const run = new Run().creates("f1")
    expect(finds(run.ends(deliveredOnce))).toEqual(["noLoss"])
  })

  test("a timer that is cancelled without a request is lost", () => {
    const run = new Run().asks(cancel, { result: "nothingDone", because: "timerNotFound" }).creates("f1")
    expect(finds(run.ends(cancelledOnce))).toEqual(["noLoss"])
  })

  test("an unknown cancel excuses only a timer that is found cancelled", () => {
    const run = new Run().creates("f1").asks(cancel)
    expect(finds(run.ends(cancelledOnce))).toEqual([])
    expect(finds(run.ends({ tally: { created: 1, replaced: 1 } }))).toEqual(["noLoss"])
  })

  test("a later life that found the key free does not excuse a missing earlier one", () => {
    const run = new Run()
      .creates("f1")
      .asks(create({ executeAtMs: 20_000 }), { result: "created", fireId: "f2", revision: 2 })
      .attempts({ fireId: "f2", revision: 2, executeAtMs: 20_000 }, delivered)
    const tally = { created: 2, replaced: 1, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f2", "delivered", 2)], tally }))).toEqual(["noLoss"])
  })

  test("a timer that a repeated create was told about must have left a trace", () => {
    const run = new Run().asks(create()).asks(create(), { result: "nothingDone", because: "unchanged" })
    expect(finds(run.ends({ tally: {} }))).toEqual(["noLoss"])
  })

  test("a due timer must not be pending, whether or not its create was answered", () => {
    const run = new Run().asks(create())
    expect(finds(run.ends({ pending: [waiting("f1", due)], tally: { created: 1 } }))).toEqual(["noLoss"])
  })
})

describe("never early", () => {
  test("an attempt before the requested time is early", () => {
    const run = new Run().creates("f1").attempts({ fireId: "f1", firedAtMs: due - 1 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["neverEarly"])
  })

  test("a retry before the wait of its policy is over is early", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "retry", notBeforeMs: due + 500 })
      .attempts({ fireId: "f1", attempt: 2, firedAtMs: due + 499 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["neverEarly"])
  })
})

describe("bounded repeats", () => {
  test("an attempt made twice by one owner is a repeat too many, even after a restart", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, delivered)
      .restarts()
      .attempts({ fireId: "f1" }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["boundedRepeats"])
  })

  test("a repeat without a fault is one too many, under any epoch", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, delivered)
      .attempts({ fireId: "f1", epoch: 2 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["boundedRepeats"])
  })

  test("each restart allows one repeat and no more", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" })
      .restarts()
      .attempts({ fireId: "f1", epoch: 2 })
      .attempts({ fireId: "f1", epoch: 3 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["boundedRepeats"])
  })

  test("an attempt that was answered as delivered is not repeated", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, delivered)
      .attempts({ fireId: "f1", attempt: 2 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["boundedRepeats"])
  })

  test("a repeat under another fireId is an unrequested arming", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, delivered)
      .restarts()
      .attempts({ fireId: "f2", epoch: 2, revision: 2 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["boundedRepeats"])
  })

  test("one unknown create explains one arming, not two", () => {
    const run = new Run()
      .asks(create())
      .attempts({ fireId: "f1" }, delivered)
      .attempts({ fireId: "f2", revision: 2 }, delivered)
    const twice = [life("f1", "delivered"), life("f2", "delivered", 2)]
    expect(finds(run.ends({ finished: twice, tally: { created: 1, rearmed: 1, delivered: 2 } }))).toEqual([
      "boundedRepeats",
    ])
  })

  test("a create that is answered with a finished arming explains only that arming", () => {
    const told = (finishedAs: string): Answer => ({
      result: "nothingDone",
      because: "alreadyFinished",
      finishedAs,
    })
    const run = (finishedAs: string) =>
      new Run().asks(create(), told(finishedAs)).attempts({ fireId: "f1" }, delivered).ends(deliveredOnce)
    expect(finds(run("f1"))).toEqual([])
    expect(finds(run("f2"))).toEqual(["boundedRepeats"])
  })

  test("a fireId is used for one arming of one key", () => {
    const other: Key = { namespace: "shop", timerId: "t-2" }
    const run = new Run()
      .creates("f1")
      .asks(
        { op: "create", key: other, executeAtMs: due, payload },
        { result: "created", fireId: "f1", revision: 1 },
      )
      .attempts({ fireId: "f1" }, delivered)
      .attempts({ fireId: "f1", key: other }, delivered)
    const both = [life("f1", "delivered"), { ...life("f1", "delivered"), key: other }]
    expect(finds(run.ends({ finished: both, tally: { created: 2, delivered: 2 } }))).toEqual([
      "boundedRepeats",
    ])
  })
})

describe("fencing", () => {
  const fencing = (first: Partial<Attempt>, second: Partial<Attempt>) => {
    const run = new Run()
      .creates("f1")
      .restarts()
      .attempts({ fireId: "f1", ...first }, delivered)
      .attempts({ fireId: "f1", ...second }, delivered)
    return finds({ ...run.ends(deliveredOnce), shards: 4 })
  }

  test("an owner that starts an attempt after its successor did is found", () => {
    expect(fencing({ epoch: 2, beganAtMs: due + 1 }, { epoch: 1, beganAtMs: due + 2 })).toEqual(["fencing"])
  })

  test("an attempt that an owner began before its successor did may arrive after it", () => {
    expect(fencing({ epoch: 2, beganAtMs: due + 2 }, { epoch: 1, beganAtMs: due + 1 })).toEqual([])
  })
})

describe("definite answers", () => {
  test("after cancelled no attempt starts", () => {
    const run = new Run().creates("f1").asks(cancel, { result: "cancelled" }).attempts({ fireId: "f1" })
    expect(finds(run.ends(cancelledOnce))).toEqual(["definiteAnswers"])
  })

  test("a restart does not excuse an attempt that began after the answer", () => {
    const run = new Run()
      .creates("f1")
      .asks(cancel, { result: "cancelled" })
      .restarts()
      .attempts({ fireId: "f1", epoch: 2 })
    expect(finds(run.ends(cancelledOnce))).toEqual(["definiteAnswers"])
  })

  test("after inFlight there is no other attempt", () => {
    const run = new Run()
      .creates("f1")
      .attempts({ fireId: "f1" }, { result: "retry" })
      .asks(cancel, { result: "inFlight" })
      .attempts({ fireId: "f1", attempt: 2 }, delivered)
    expect(finds(run.ends(cancelledOnce))).toEqual(["definiteAnswers"])
  })

  test("after cancelled no timer starts that was acknowledged before, whatever else was asked", () => {
    const run = new Run()
      .asks(cancel)
      .creates("f1")
      .asks(moveTo(20_000))
      .asks(cancel, { result: "cancelled" })
      .attempts({ fireId: "f1" })
    expect(finds(run.ends(cancelledOnce))).toEqual(["definiteAnswers"])
  })

  test("after cancelled no timer is tried again that was tried before, whoever made it", () => {
    const run = new Run()
      .asks(create())
      .asks(create())
      .attempts({ fireId: "f1" }, { result: "retry" })
      .asks(cancel, { result: "cancelled" })
      .attempts({ fireId: "f1", attempt: 2 })
    const finished = [life("f1", "cancelled"), life("f2", "cancelled", 2)]
    expect(finds(run.ends({ finished, tally: { created: 2, cancelled: 2 } }))).toEqual(["definiteAnswers"])
  })

  test("after cancelled no timer starts that is the only cancelled one in the store, whoever made it", () => {
    const run = new Run().asks(create()).asks(cancel, { result: "cancelled" }).attempts({ fireId: "f1" })
    expect(finds(run.ends(cancelledOnce))).toEqual(["definiteAnswers"])
  })

  test("cancelled says that no attempt of the timer runs, at the first cancel of a key and at later ones", () => {
    const arrivesLate = (run: Run, fireId: string, revision: number): Run => {
      run.nowMs = due
      return run
        .asks(cancel, { result: "cancelled" })
        .attempts({ fireId, revision, beganAtMs: due - 1, firedAtMs: due })
    }
    const first = arrivesLate(new Run().creates("f1"), "f1", 1)
    expect(finds(first.ends(cancelledOnce))).toEqual(["definiteAnswers"])
    const between = new Run().creates("f1").asks(cancel, { result: "cancelled" })
    between.asks(create(), { result: "created", fireId: "f2", revision: 3 })
    const second = arrivesLate(between, "f2", 3)
    const finished = [life("f1", "cancelled", 2), life("f2", "cancelled", 4)]
    expect(finds(second.ends({ finished, tally: { created: 2, cancelled: 2 } }))).toEqual(["definiteAnswers"])
  })

  test("a moved timer does not fire at its old time", () => {
    const run = new Run()
      .creates("f1")
      .asks(moveTo(20_000), { result: "changed", fireId: "f2", revision: 2 })
      .attempts({ fireId: "f1" }, delivered)
      .attempts({ fireId: "f2", revision: 2, executeAtMs: 20_000 }, delivered)
    const tally = { created: 2, replaced: 1, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f2", "delivered", 2)], tally }))).toEqual(["definiteAnswers"])
  })

  test("a replaced timer may have been in flight, but does not start afterwards", () => {
    const replacedWhile = (beganAtMs: number) => {
      const run = new Run().creates("f1")
      run.nowMs = due
      run.creates("f2", 2, { executeAtMs: 20_000 })
      run.attempts({ fireId: "f1", beganAtMs }, delivered)
      run.attempts({ fireId: "f2", revision: 2, executeAtMs: 20_000 }, delivered)
      const finished = [life("f1", "delivered"), life("f2", "delivered", 2)]
      return run.ends({ finished, tally: { created: 2, delivered: 2 } })
    }
    expect(finds(replacedWhile(due))).toEqual([])
    expect(finds(replacedWhile(due + 5))).toEqual(["definiteAnswers"])
  })
})

describe("integrity", () => {
  test("a payload that arrives with other bytes was altered, even if it means the same", () => {
    const run = new Run().creates("f1").attempts({ fireId: "f1", payload: bytesOf('{"n":1.0}') }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["integrity"])
  })

  test("a payload that arrives where none was given, or is missing where one was given, was altered", () => {
    const { payload: _, ...bare } = { key, op: "create" as const, executeAtMs: due, payload }
    const added = new Run()
      .asks(bare, { result: "created", fireId: "f1", revision: 1 })
      .attempts({ fireId: "f1" }, delivered)
    expect(finds(added.ends(deliveredOnce))).toEqual(["integrity"])
  })

  test("a timer that carries another time than the requested one was altered", () => {
    const run = new Run().creates("f1").attempts({ fireId: "f1", executeAtMs: due + 1 }, delivered)
    expect(finds(run.ends(deliveredOnce))).toEqual(["integrity"])
  })

  test("a move keeps the payload", () => {
    const run = new Run()
      .creates("f1")
      .asks(moveTo(20_000), { result: "changed", fireId: "f2", revision: 2 })
      .attempts({ fireId: "f2", revision: 2, executeAtMs: 20_000, payload: bytesOf("null") }, delivered)
    const moved = { created: 2, replaced: 1, delivered: 1 }
    expect(finds(run.ends({ finished: [life("f2", "delivered", 2)], tally: moved }))).toEqual(["integrity"])
  })

  test("the stored payload is the given one", () => {
    const run = new Run().creates("f1", 1, { executeAtMs: 90_000 })
    const stored = { ...waiting("f1", 90_000), payload: bytesOf("{}") }
    expect(finds(run.ends({ pending: [stored], tally: { created: 1 } }))).toEqual(["integrity"])
  })
})

describe("conservation", () => {
  const finished = [life("f1", "delivered")]
  const run = () => new Run().creates("f1").attempts({ fireId: "f1" }, delivered)

  test("the tally agrees with a recount of the tables", () => {
    expect(finds(run().ends({ finished, tally: { created: 1, delivered: 2 } }))).toEqual([
      "conservation",
      "conservation",
    ])
    expect(finds(run().ends({ finished: [], tally: { created: 1, delivered: 1 } }))).toEqual(["conservation"])
  })

  test("the tally agrees with the answers to clients", () => {
    const tally = { created: 2, delivered: 1, replaced: 1 }
    expect(finds(run().ends({ finished, tally }))).toEqual(["conservation"])
  })
})

test("a report names invariant and timer, and stays short", () => {
  const [first] = checkInvariants(new Run().creates("f1").ends({ tally: { created: 1, replaced: 1 } }))
  if (first === undefined) throw new Error("the loss was not found")
  expect(describeViolations([first])).toBe(
    "broken promise, noLoss: shop/t-1 (f1), acknowledged, was neither delivered nor cancelled, and is not in the store",
  )
  expect(describeViolations(new Array(25).fill(first)).split("\n").at(-1)).toBe("… and 5 more")
})

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
