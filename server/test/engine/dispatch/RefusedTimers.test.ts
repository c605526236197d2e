// Timers for hosts that the egress rules refuse, in the dispatcher: one judgement for all, and bounds on what they use.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { DispatcherRig, type Running } from "../../../testkit/DispatcherRig.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { at } from "../../../testkit/StoreFixture.ts"

const delivered: Delivery = { kind: "delivered" }
const refusal: Delivery = { kind: "egressRefused", detail: "TIMER_EGRESS does not allow 10.0.0.1 (h)" }
const judgeAgainMs = 300_000
const wide = { inFlight: 100, inFlightPerNamespace: 100, inFlightPerHost: 64, unsettled: 1_000 }

const first = (rig: DispatcherRig): Running => at([...rig.running], 0)

const pass = (rig: DispatcherRig, ms: number): void => {
  rig.nowMs += ms
  rig.pump()
}

describe("a refused host", () => {
  test("is judged by one attempt each 5 minutes, for all namespaces", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 3)
    rig.submit("b", "h", 3)
    expect(rig.started.length).toBe(1)
    expect(rig.refusedHosts).toEqual(["h.test"])
    for (let period = 1; period <= 3; period++) {
      pass(rig, judgeAgainMs - 1)
      expect(rig.running.size).toBe(0)
      pass(rig, 1)
      expect([rig.running.size, rig.started.length]).toEqual([1, 1 + period])
      // While the judgement runs, no other attempt starts.
      pass(rig, 10_000)
      expect(rig.running.size).toBe(1)
      first(rig).end(refusal)
      expect(rig.running.size).toBe(0)
    }
    expect(rig.refusedHosts.length).toBe(1)
    expect(rig.dispatcher.refused.counts).toEqual({ hosts: 1, timers: 7 })
  })

  test("that is allowed again gets all its timers, of all namespaces", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 5)
    rig.submit("b", "h", 5)
    pass(rig, judgeAgainMs)
    first(rig).end(delivered)
    while (rig.running.size > 0) first(rig).end(delivered)
    expect(new Set(rig.started).size).toBe(11)
    expect(rig.dispatcher.readyCount).toBe(0)
    expect(rig.dispatcher.refused.counts).toEqual({ hosts: 0, timers: 0 })
  })

  test("does not delay the other hosts of its namespace, and opens no breaker", () => {
    const rig = new DispatcherRig({ breaker: { failures: 1, firstPauseMs: 1_000, longestPauseMs: 1_000 } })
    rig.submit("a", "h", 20)
    for (const running of [...rig.running]) running.end(refusal)
    rig.submit("a", "other", 1)
    expect(first(rig).host).toBe("other")
    expect(rig.dispatcher.openBreakers).toBe(0)
  })

  test("whose judgement could not be made is judged by the next attempt", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 2)
    for (const running of [...rig.running]) running.end(refusal)
    pass(rig, judgeAgainMs)
    first(rig).end({ kind: "dropped", reason: "notDead" })
    pass(rig, 1_000)
    expect(rig.running.size).toBe(1)
  })

  test("stays refused for all namespaces if the lookup of its judgement fails", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 50)
    rig.submit("b", "h", 50)
    rig.sends = false
    pass(rig, judgeAgainMs)
    first(rig).end({ kind: "retry", error: "host not found", isHostFailure: true })
    expect(rig.dispatcher.refused.counts.hosts).toBe(1)
    pass(rig, 1_000)
    // One attempt judges the host again. The others wait.
    expect(rig.running.size).toBe(1)
  })

  test("is judged after a pause of the namespace that was to judge it", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 3)
    for (const running of [...rig.running]) running.end(refusal)
    rig.set("a", 0)
    pass(rig, judgeAgainMs)
    pass(rig, 5_000)
    expect(rig.running.size).toBe(0)
    rig.set("a", 10)
    expect(rig.running.size).toBe(1)
  })
})

describe("refused timers", () => {
  test("beyond 100 of a namespace are postponed to the next judgement, and never more than 32 at once", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.storesAtOnce = false
    rig.submit("a", "h", 500)
    expect(rig.unstored.length).toBe(32)
    // They use no slot, so another namespace starts.
    rig.submit("b", "other", 1)
    expect(rig.running.size).toBe(1)
    while (rig.unstored.length > 0) {
      expect(rig.unstored.length).toBeLessThanOrEqual(32)
      rig.unstored.shift()?.()
    }
    expect(rig.postponed.length).toBe(401)
    for (const [, inMs] of rig.postponed) {
      expect(inMs).toBeGreaterThanOrEqual(judgeAgainMs)
      expect(inMs).toBeLessThanOrEqual(2 * judgeAgainMs)
    }
    expect(rig.dispatcher.refused.counts.timers).toBe(501)
    expect(rig.dispatcher.readyCount).toBe(100)
  })

  test("of one namespace do not delay the timers of another", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("k0", "h", 1)
    first(rig).end(refusal)
    // No more timers stay in memory.
    for (let tenant = 0; tenant < 10; tenant++) rig.submit(`k${tenant}`, "h", 100)
    rig.storesAtOnce = false
    rig.submit("a", "h", 2_000)
    rig.submit("b", "h", 1, [10])
    rig.submit("b", "ok", 1)
    expect([...rig.running].map(({ host }) => host)).toEqual(["ok"])
    expect(rig.postponed.at(-1)?.[0]).toBe("b-h-3001")
  })

  test("of two namespaces are postponed in turn", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("x", "h", 1)
    first(rig).end(refusal)
    rig.storesAtOnce = false
    for (const namespace of ["a", "b"]) {
      rig.mostInFlight.set(namespace, 0)
      rig.submit(namespace, "h", 200)
    }
    rig.mostInFlight.clear()
    rig.dispatcher.noteTerms()
    const namespaces = rig.postponed.map(([timerId]) => timerId.charAt(0))
    expect(namespaces.slice(0, 6).join("")).toBe("ababab")
  })

  test("that cannot be postponed yet do not delay the other hosts of their namespace", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.storesAtOnce = false
    for (let tenant = 0; tenant < 10; tenant++) rig.submit(`t${tenant}`, "h", 300, new Array(300).fill(10))
    const before = rig.unstored.length
    expect(before).toBeLessThanOrEqual(64)
    for (let tenant = 0; tenant < 10; tenant++) rig.submit(`t${tenant}`, "ok", 1)
    expect(rig.running.size).toBe(10)
    expect(rig.unstored.length).toBe(before)
    const cancelled = [...rig.waiting.keys()].filter((timerId) => timerId.startsWith("t9-h")).slice(-5)
    for (const timerId of cancelled) rig.withdraw(timerId)
    while (rig.unstored.length > 0) rig.unstored.shift()?.()
    const postponed = new Set(rig.postponed.map(([timerId]) => timerId))
    expect(postponed.size).toBe(rig.postponed.length)
    expect(cancelled.filter((timerId) => postponed.has(timerId))).toEqual([])
    expect(postponed.size + rig.dispatcher.readyCount).toBe(3_001 - cancelled.length)
    expect(rig.dispatcher.readyCount).toBe(1_000)
  })

  test("that cannot be postponed yet start when their host is allowed", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 2)
    first(rig).end(refusal)
    rig.storesAtOnce = false
    rig.submit("a", "h", 500)
    // The second attempt started before the refusal.
    first(rig).end(delivered)
    rig.storesAtOnce = true
    while (rig.running.size > 0) first(rig).end(delivered)
    expect(rig.started.length).toBe(1 + 502 - rig.postponed.length)
    expect(rig.dispatcher.readyCount).toBe(0)
  })

  test("of all namespaces together are at most 1,000 in memory", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    for (let tenant = 0; tenant < 30; tenant++) rig.submit(`t${tenant}`, "h", 60)
    expect(rig.dispatcher.readyCount).toBe(1_000)
    expect(rig.postponed.length).toBe(801)
  })

  test("that were postponed are spread, two for each millisecond", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 2_000)
    const times = rig.postponed.map(([, inMs]) => inMs)
    for (const time of new Set(times))
      expect(times.filter((other) => other === time).length).toBeLessThanOrEqual(2)
  })

  test("that were postponed are spread only if their own host has many", () => {
    const rig = new DispatcherRig(wide)
    for (const host of ["h", "other"]) {
      rig.submit("a", host, 1)
      first(rig).end(refusal)
    }
    rig.submit("a", "h", 2_000)
    rig.submit("a", "other", 1)
    expect(rig.postponed.at(-1)?.[1]).toBe(judgeAgainMs)
  })

  test("are postponed no further than their expiry, and those in memory expire within a second", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 200, [], { expireAfterMs: 60_000 })
    expect(rig.postponed.length).toBe(101)
    for (const [, inMs] of rig.postponed) expect(inMs).toBe(60_001)
    expect(rig.waiting.size).toBe(200)
    pass(rig, 60_000)
    expect(rig.dispatcher.readyCount).toBe(100)
    pass(rig, 1_000)
    // Only the first timer has no expireAfter.
    expect(rig.dispatcher.readyCount).toBe(1)
    expect(rig.started.length).toBe(1)
  })

  test("that are cancelled make room for others", () => {
    const rig = new DispatcherRig(wide)
    rig.submit("a", "h", 1)
    first(rig).end(refusal)
    rig.submit("a", "h", 99)
    for (const timerId of [...rig.waiting.keys()].slice(0, 40)) rig.withdraw(timerId)
    expect(rig.dispatcher.refused.counts.timers).toBe(60)
    rig.submit("a", "h", 40)
    expect(rig.postponed).toEqual([])
    rig.submit("a", "h", 1)
    expect(rig.postponed.length).toBe(1)
  })

  test("each end exactly once in the end, whatever happens on the way", () => {
    const step = fc.record({
      op: fc.constantFrom(
        "submit",
        "submit",
        "end",
        "refuse",
        "refuse",
        "withdraw",
        "hold",
        "unhold",
        "pass",
        "store",
      ),
      namespace: fc.constantFrom("a", "b"),
      host: fc.constantFrom("h1", "h2"),
      place: fc.nat(20),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: "max" }), (sequence) => {
        const rig = new DispatcherRig()
        rig.storesAtOnce = false
        const ended: Array<string> = []
        const end = (running: Running | undefined) => {
          if (running === undefined) return
          ended.push(running.timerId)
          running.end(delivered)
        }
        const withdrawn = new Set<string>()
        const submitted = new Set<string>()
        for (const { op, namespace, host, place } of sequence) {
          const running = [...rig.running][place % Math.max(1, rig.running.size)]
          const waiting = [...rig.waiting.keys()][place] ?? ""
          if (op === "submit") rig.submit(namespace, host, 1 + (place % 4))
          if (op === "end") end(running)
          if (op === "refuse") running?.end(refusal)
          if (op === "store") rig.unstored.shift()?.()
          if (op === "withdraw" && rig.waiting.has(waiting)) {
            withdrawn.add(waiting)
            rig.withdraw(waiting)
          }
          if (op === "hold") rig.hold(waiting)
          if (op === "unhold") rig.unhold(waiting)
          if (op === "pass") pass(rig, place * 30_000)
          for (const timerId of [...rig.waiting.keys(), ...rig.started]) submitted.add(timerId)
        }
        for (const timerId of [...rig.waiting.keys()]) while (rig.isHeld(timerId)) rig.unhold(timerId)
        for (let round = 0; round < 5; round++) {
          pass(rig, judgeAgainMs)
          while (rig.running.size + rig.unstored.length > 0) {
            for (const running of [...rig.running]) end(running)
            while (rig.unstored.length > 0) rig.unstored.shift()?.()
          }
        }
        expect(rig.dispatcher.readyCount).toBe(0)
        expect(rig.dispatcher.inFlight).toBe(0)
        expect(new Set(ended).size).toBe(ended.length)
        expect([...ended, ...withdrawn].sort()).toEqual([...submitted].sort())
        expect(rig.window.unsettled).toBe(0)
        expect(rig.window.due).toBe(0)
        expect(rig.window.size).toBe(0)
        expect(rig.dispatcher.refused.counts.timers).toBe(0)
      }),
      { numRuns: runsOf(400) },
    )
  })
})
