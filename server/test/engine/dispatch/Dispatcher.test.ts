// Which attempt starts next: limits, fair turns, order within a namespace, and failing hosts.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { DispatcherLimits } from "../../../src/engine/dispatch/DispatcherLimits.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { DispatcherRig, type Running, rigLimits } from "../../../testkit/DispatcherRig.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { at } from "../../../testkit/StoreFixture.ts"

const delivered: Delivery = { kind: "delivered" }
const hostFailed: Delivery = { kind: "retry", error: "no answer", isHostFailure: true }
const refused: Delivery = { kind: "retry", error: "no", isHostFailure: false }

const first = (rig: DispatcherRig): Running => at([...rig.running], 0)

const expectWithin = (rig: DispatcherRig, limits: DispatcherLimits): void => {
  expect(rig.running.size).toBe(rig.dispatcher.inFlight)
  expect(rig.running.size).toBeLessThanOrEqual(limits.inFlight)
  expect(rig.running.size + rig.unstored.length).toBeLessThanOrEqual(limits.unsettled)
  for (const { namespace, host } of rig.running) {
    expect(rig.inFlightOf(namespace)).toBeLessThanOrEqual(limits.inFlightPerNamespace)
    expect(rig.inFlightOf(namespace, host)).toBeLessThanOrEqual(limits.inFlightPerHost)
  }
}

const mostOf = (rig: DispatcherRig, namespace: string): number =>
  rig.mostInFlight.get(namespace) ?? Number.POSITIVE_INFINITY

/** No timer waits that could run: free room is always used. */
const expectNoneLeftWaiting = (rig: DispatcherRig, limits: DispatcherLimits): void => {
  const free = limits.inFlight - rig.running.size
  if (free === 0 || rig.running.size + rig.unstored.length >= limits.unsettled) return
  for (const { namespace, timerId, uuid } of rig.waiting.values()) {
    const host = timerId.split("-")[1] ?? ""
    const isBlocked =
      rig.window.isHeld(uuid) ||
      rig.inFlightOf(namespace) >= Math.min(limits.inFlightPerNamespace, free, mostOf(rig, namespace)) ||
      rig.inFlightOf(namespace, host) >= limits.inFlightPerHost
    expect(isBlocked ? "blocked" : `${timerId} could start`).toBe("blocked")
  }
}

const steps = fc.array(
  fc.record({
    op: fc.constantFrom(
      "submit",
      "submit",
      "end",
      "end",
      "fail",
      "store",
      "withdraw",
      "hold",
      "unhold",
      "set",
      "pump",
    ),
    namespace: fc.constantFrom("a", "b", "c", "d"),
    host: fc.constantFrom("h1", "h2", "h3"),
    place: fc.nat(20),
  }),
  { maxLength: 120, size: "max" },
)

test("a ready or parked timer does not start early when the clock is set back", () => {
  const rig = new DispatcherRig({ inFlight: 3, inFlightPerHost: 1 })
  rig.submit("a", "h", 2)
  rig.submit("b", "h", 2)
  const [first, second] = [...rig.running]
  expect(rig.started.length).toBe(2)
  rig.nowMs -= 1
  first?.end(delivered)
  second?.end(delivered)
  expect(rig.running.size).toBe(0)
  expect(rig.dispatcher.readyCount).toBe(0)
  rig.nowMs += 1
  rig.pump()
  expect(rig.started.length).toBe(4)
})

describe("bounds", () => {
  test("in total, per namespace, per host and for unsettled attempts hold, and free room is always used", () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const rig = new DispatcherRig()
        rig.storesAtOnce = false
        for (const { op, namespace, host, place } of sequence) {
          const running = [...rig.running][place % Math.max(1, rig.running.size)]
          if (op === "submit") rig.submit(namespace, host, 1 + (place % 4))
          if (op === "end") running?.end(delivered)
          if (op === "fail") running?.end(refused)
          if (op === "store") rig.unstored.shift()?.()
          if (op === "withdraw") rig.withdraw([...rig.waiting.keys()][place] ?? "")
          if (op === "hold") rig.hold([...rig.waiting.keys()][place] ?? "")
          if (op === "unhold") rig.unhold([...rig.waiting.keys()][place] ?? "")
          if (op === "set") rig.set(namespace, place % 4)
          if (op === "pump") rig.pump()
          expectWithin(rig, rigLimits)
          expectNoneLeftWaiting(rig, rigLimits)
        }
        for (const namespace of rig.mostInFlight.keys()) rig.set(namespace, Number.POSITIVE_INFINITY)
        for (const timerId of rig.waiting.keys()) while (rig.isHeld(timerId)) rig.unhold(timerId)
        while (rig.running.size + rig.unstored.length > 0) {
          for (const running of [...rig.running]) running.end(delivered)
          while (rig.unstored.length > 0) rig.unstored.shift()?.()
        }
        expect(rig.waiting.size).toBe(0)
        expect(rig.dispatcher.readyCount).toBe(0)
        expect(new Set(rig.started).size).toBe(rig.started.length)
      }),
      { numRuns: runsOf(400) },
    )
  })

  test("a paused namespace starts nothing while others go on; when resumed, it starts in due order", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 1)
    rig.set("a", 0)
    rig.submit("a", "h", 3, [1, 3, 2])
    rig.submit("b", "h", 1)
    for (let turn = 0; turn < 3; turn++) rig.pump()
    expect(rig.started).toEqual(["a-h-0", "b-h-4"])
    // Running attempts end, and still nothing starts.
    first(rig).end(delivered)
    expect(rig.inFlightOf("a")).toBe(0)
    rig.withdraw("a-h-1")
    rig.set("a", 1)
    expect(rig.started.slice(2)).toEqual(["a-h-2"])
    rig.set("a", 2)
    expect(rig.started.slice(2)).toEqual(["a-h-2", "a-h-3"])
  })

  test("a paused namespace is forgotten with its last timer", () => {
    const rig = new DispatcherRig()
    rig.set("a", 0)
    rig.submit("a", "h", 2)
    for (const timerId of [...rig.waiting.keys()]) rig.withdraw(timerId)
    rig.set("a", 5)
    rig.submit("a", "h", 1)
    expect(rig.inFlightOf("a")).toBe(1)
  })

  test("time within pauses does not count towards expireAfter", () => {
    const rig = new DispatcherRig()
    rig.pauses = [{ fromMs: rig.nowMs - 900, untilMs: rig.nowMs - 100 }]
    rig.submit("a", "h", 2, [1_000, 1_001], { expireAfterMs: 200 })
    expect(rig.started).toEqual(["a-h-0"])
    expect(rig.waiting.size).toBe(0)
  })

  test("a timer parked at a host moves up when the one before it is held back, cancelled or expires", () => {
    for (const leave of ["hold", "withdraw", "expire"] as const) {
      const rig = new DispatcherRig({ inFlightPerHost: 1, unsettled: 2 })
      rig.storesAtOnce = false
      rig.submit("a", "h", 1)
      rig.submit("a", "h", 1, [5], leave === "expire" ? { expireAfterMs: 10 } : {})
      rig.submit("a", "h", 1)
      const [second = "", third = ""] = [...rig.waiting.keys()]
      rig.submit("b", "h", 1)
      // The first attempt has ended but is not stored. The second timer has the free place of the host, but may not
      // start yet.
      first(rig).end(delivered)
      if (leave === "hold") rig.hold(second)
      if (leave === "withdraw") rig.withdraw(second)
      if (leave === "expire") rig.nowMs += 11
      while (rig.unstored.length > 0) rig.unstored.shift()?.()
      expect(rig.started.slice(2)).toEqual([third])
    }
  })

  test("hanging namespaces leave room for the next one", () => {
    const rig = new DispatcherRig({
      inFlight: 200,
      inFlightPerNamespace: 100,
      inFlightPerHost: 64,
      unsettled: 4_000,
    })
    for (const namespace of ["a", "b", "c", "d", "e"]) {
      rig.submit(namespace, "h", 1_000)
      expect(rig.inFlightOf(namespace)).toBeGreaterThan(0)
    }
    expect(rig.running.size).toBeLessThan(200)
    rig.submit("late", "h", 1)
    expect(rig.inFlightOf("late")).toBe(1)
  })

  test("a namespace is counted once, however many hosts it has", () => {
    const rig = new DispatcherRig({ inFlight: 8, inFlightPerNamespace: 1, inFlightPerHost: 1 })
    for (let host = 0; host < 10_000; host++) {
      rig.submit("many", `h${host}`, 1)
      first(rig).end(hostFailed)
    }
    rig.submit("x", "h", 1)
    rig.submit("x", "i", 1)
    expect(rig.inFlightOf("x")).toBe(1)
    first(rig).end(delivered)
    expect(rig.inFlightOf("x")).toBe(1)
    first(rig).end(delivered)
    expect(rig.waiting.size).toBe(0)
  })
})

describe("turns", () => {
  test("a namespace with ten ready timers gets its turns beside one with ten thousand", () => {
    const rig = new DispatcherRig({ inFlightPerHost: 64 })
    rig.submit("large", "h", 10_000)
    rig.submit("small", "h", 10)
    const before = rig.started.length
    while (
      rig.inFlightOf("small") + [...rig.waiting.values()].filter((t) => t.namespace === "small").length >
      0
    ) {
      first(rig).end(delivered)
    }
    const smallStarted = rig.started.filter((id) => id.startsWith("small")).length
    expect(smallStarted).toBe(10)
    // One of the large namespace for each of the small one, and those that already ran.
    expect(rig.started.length - before).toBeLessThanOrEqual(2 * 10 + rigLimits.inFlight)
  })

  test("timers of one namespace start in due order", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 40 }), (agesMs) => {
        const rig = new DispatcherRig({ inFlightPerHost: 64 })
        rig.submit("a", "h", agesMs.length, agesMs)
        while (rig.running.size > 0) first(rig).end(delivered)
        const dueTimes = rig.started.map((id) => agesMs[Number(id.split("-")[2])] ?? Number.NaN)
        expect(dueTimes).toEqual([...agesMs].sort((a, b) => b - a))
      }),
      { numRuns: runsOf(100) },
    )
  })

  test("start at most 100 attempts for the outcomes of one commit before the thread does other work", () => {
    const rig = new DispatcherRig({
      inFlight: 300,
      inFlightPerNamespace: 500,
      inFlightPerHost: 500,
      unsettled: 1_000,
    })
    rig.submit("a", "h", 1_000)
    expect(rig.running.size).toBe(150)
    rig.holdsSoon = true
    const before = rig.started.length
    for (let ended = 0; ended < 150; ended++) first(rig).end(delivered)
    expect(rig.started.length - before).toBeLessThanOrEqual(100)
    for (let task = rig.soon.shift(); task !== undefined; task = rig.soon.shift()) task()
    expect(rig.running.size).toBe(150)
  })

  test("of known namespaces alternate with those of new ones, however many new ones there are", () => {
    const limits = {
      inFlight: 1_000,
      slow: 1,
      inFlightPerNamespace: 500,
      inFlightPerHost: 500,
      unsettled: 2_000,
    }
    const rig = new DispatcherRig(limits, 5_000)
    rig.submit("known", "h", 1)
    first(rig).end(delivered)
    rig.holdsSoon = true
    for (let name = 0; name < 400; name++) rig.submit(`new-${name}`, "h", 1)
    rig.submit("known", "h", 30)
    const ofKnown = () => rig.started.filter((timerId) => timerId.startsWith("known")).length
    expect(ofKnown()).toBe(31)
    expect(rig.running.size).toBeLessThanOrEqual(10 + 30)
    const perTurn = [rig.running.size]
    for (let task = rig.soon.shift(); task !== undefined; task = rig.soon.shift()) {
      task()
      perTurn.push(rig.running.size)
    }
    expect(perTurn.every((size, turn) => turn === 0 || size - at(perTurn, turn - 1) <= 10)).toBe(true)
    expect(rig.running.size).toBe(430)
  })

  test("of a namespace whose host only refuses attempts are those of a new namespace", () => {
    const limits = { inFlight: 1_000, slow: 1, inFlightPerNamespace: 500, inFlightPerHost: 500 }
    const rig = new DispatcherRig({ ...limits, unsettled: 2_000 }, 5_000)
    rig.submit("refused", "h", 1)
    first(rig).end(hostFailed)
    rig.submit("known", "h", 1)
    first(rig).end(delivered)
    rig.submit("known", "h", 1)
    first(rig).end(hostFailed)
    rig.holdsSoon = true
    rig.submit("refused", "h", 60)
    rig.submit("known", "h", 60)
    const count = (name: string) => [...rig.running].filter(({ namespace }) => namespace === name).length
    expect(count("known")).toBe(60)
    expect(count("refused")).toBeLessThanOrEqual(10)
  })

  test("of new namespaces wait while many of them have just started, until one ends or 25 ms have passed", () => {
    const limits = {
      inFlight: 100,
      inFlightPerNamespace: 50,
      inFlightPerHost: 50,
      unsettled: 200,
      freshNew: 3,
    }
    const rig = new DispatcherRig({ ...limits })
    rig.submit("known", "h", 1)
    first(rig).end(delivered)
    for (let name = 0; name < 10; name++) rig.submit(`new-${name}`, "h", 1)
    expect(rig.running.size).toBe(3)
    rig.submit("known", "h", 5)
    expect(rig.running.size).toBe(3 + 5)
    first(rig).end(hostFailed)
    expect(rig.running.size).toBe(3 + 5)
    expect(rig.later.map(([delayMs]) => delayMs)).toEqual([25])
    rig.nowMs += 25
    rig.later.shift()?.[1]()
    expect(rig.running.size).toBe(6 + 5)
    expect(rig.later.length).toBe(1)
  })

  test("of new namespaces start slower if the thread is late, and those of known ones do not", () => {
    const limits = { inFlight: 200, inFlightPerNamespace: 100, inFlightPerHost: 100, unsettled: 400 }
    const rig = new DispatcherRig(limits, undefined, true)
    rig.submit("known", "h", 1)
    first(rig).end(delivered)
    rig.nowMs += 10
    for (let late = 0; late < 4; late++) {
      rig.newcomers?.noteDelay(10)
      rig.nowMs += 10
    }
    for (let name = 0; name < 10; name++) rig.submit(`new-${name}`, "h", 1)
    rig.submit("known", "h", 30)
    const count = (prefix: string) =>
      [...rig.running].filter(({ namespace }) => namespace.startsWith(prefix)).length
    expect([count("new"), count("known")]).toEqual([2, 30])
    const [again] = rig.later.splice(0)
    expect(again?.[0]).toBe(10)
    rig.nowMs += 10
    again?.[1]()
    expect(count("new")).toBe(4)
  })

  test("with large payloads wait for their pace, and those of other namespaces start", () => {
    const limits = { inFlight: 200, inFlightPerNamespace: 100, inFlightPerHost: 100, unsettled: 400 }
    const rig = new DispatcherRig(limits)
    rig.payload = new Uint8Array(60_000)
    rig.submit("large", "h", 30)
    expect(rig.inFlightOf("large")).toBe(3)
    rig.payload = undefined
    rig.submit("small", "h", 30)
    expect(rig.inFlightOf("small")).toBe(30)
    expect(rig.later.map(([delayMs]) => delayMs)).toEqual([10])
    rig.nowMs += 10
    rig.later.shift()?.[1]()
    expect(rig.inFlightOf("large")).toBe(6)
  })

  test("that find no slot are bounded too: one call does not park the timers of all namespaces", () => {
    const limits = { inFlight: 10, slow: 1, inFlightPerNamespace: 10, inFlightPerHost: 10 }
    const rig = new DispatcherRig({ ...limits, unsettled: 2_000 }, 5_000)
    rig.holdsSoon = true
    for (let name = 0; name < 1_000; name++) {
      rig.mostInFlight.set(`new-${name}`, 0)
      rig.submit(`new-${name}`, "h", 1)
    }
    rig.mostInFlight.clear()
    rig.dispatcher.noteTerms()
    const parked = () =>
      Array.from({ length: 1_000 }, (_, name) => rig.dispatcher.queueOf(`new-${name}`)?.hosts.get("h.test"))
        .map((host) => host?.parked.size ?? 0)
        .reduce((sum, size) => sum + size, 0)
    const perTurn = [parked()]
    while (rig.soon.length > 0) {
      rig.soon.shift()?.()
      perTurn.push(parked())
    }
    expect(perTurn.map((sum, turn) => sum - (perTurn[turn - 1] ?? 0)).every((added) => added <= 400)).toBe(
      true,
    )
    expect(perTurn.at(-1)).toBe(1_000 - rig.running.size)
  })

  test("start at most 100 attempts before the thread does other work, and the rest soon after", () => {
    const rig = new DispatcherRig({
      inFlight: 1_000,
      inFlightPerNamespace: 500,
      inFlightPerHost: 500,
      unsettled: 1_000,
    })
    rig.submit("a", "h", 1)
    first(rig).end(delivered)
    rig.holdsSoon = true
    rig.submit("a", "h", 250)
    const sizes = [rig.running.size]
    for (let task = rig.soon.shift(); task !== undefined; task = rig.soon.shift()) {
      task()
      sizes.push(rig.running.size)
    }
    expect(sizes).toEqual([99, 199, 250])
  })

  test("while the lease is not trusted nothing starts, and nothing is lost", () => {
    const rig = new DispatcherRig()
    rig.isTrusted = false
    rig.submit("a", "h", 2)
    expect(rig.started).toEqual([])
    rig.isTrusted = true
    rig.pump()
    expect(rig.started.length).toBe(2)
  })

  test("after a stop nothing starts", () => {
    const rig = new DispatcherRig()
    rig.submit("a", "h", 4)
    rig.dispatcher.stop()
    first(rig).end(delivered)
    expect(rig.started.length).toBe(2)
  })
})

describe("failing hosts", () => {
  const failing = { breaker: { failures: 3, firstPauseMs: 1_000, longestPauseMs: 4_000 }, inFlightPerHost: 1 }

  const openedRig = (): DispatcherRig => {
    const rig = new DispatcherRig(failing)
    rig.submit("a", "bad", 6)
    for (let failure = 0; failure < 3; failure++) first(rig).end(hostFailed)
    return rig
  }

  test("after enough failures in a row nothing is sent there, and no attempt is counted", () => {
    const rig = openedRig()
    expect(rig.dispatcher.openBreakers).toBe(1)
    rig.nowMs += 999
    rig.pump()
    expect(rig.running.size).toBe(0)
    expect(rig.started.length).toBe(3)
    expect(rig.waiting.size).toBe(3)
  })

  test("other hosts of the namespace, and the same host for other namespaces, go on", () => {
    const rig = openedRig()
    rig.submit("a", "good", 1)
    rig.submit("b", "bad", 1)
    expect(rig.inFlightOf("a", "good")).toBe(1)
    expect(rig.inFlightOf("b", "bad")).toBe(1)
  })

  test("one probe goes after the pause, and its success closes the breaker and releases the rest", () => {
    const rig = openedRig()
    rig.nowMs += 1_000
    rig.pump()
    rig.pump()
    expect(rig.running.size).toBe(1)
    expect(first(rig).attempt).toBe(1)
    first(rig).end(delivered)
    expect(rig.dispatcher.openBreakers).toBe(0)
    while (rig.running.size > 0) first(rig).end(delivered)
    expect(rig.started.length).toBe(6)
  })

  test("a probe that is not sent leaves the breaker open, and the next timer is the probe", () => {
    for (const unsent of [
      { kind: "dropped", reason: "notDead" },
      { kind: "postponed", inMs: 5_000, error: "its timer has not ended yet" },
    ] as const) {
      const rig = openedRig()
      rig.nowMs += 1_000
      rig.pump()
      first(rig).end(unsent)
      expect(rig.dispatcher.breakers(10)).toMatchObject([{ failures: 3, waiting: 1 }])
      expect(rig.running.size).toBe(1)
      first(rig).end(delivered)
      expect(rig.dispatcher.openBreakers).toBe(0)
    }
  })

  test("a timer that is not sent does not make the host's failures be forgotten", () => {
    const rig = new DispatcherRig(failing)
    rig.submit("a", "bad", 4)
    for (let failure = 0; failure < 2; failure++) first(rig).end(hostFailed)
    first(rig).end({ kind: "dropped", reason: "notDead" })
    first(rig).end(hostFailed)
    expect(rig.dispatcher.openBreakers).toBe(1)
  })

  test("a failed probe doubles the pause, up to the longest", () => {
    const rig = openedRig()
    rig.submit("a", "bad", 10)
    for (const pauseMs of [1_000, 2_000, 4_000, 4_000]) {
      const before = rig.started.length
      rig.nowMs += pauseMs - 1
      rig.pump()
      expect(rig.started.length).toBe(before)
      rig.nowMs += 1
      rig.pump()
      expect(rig.started.length).toBe(before + 1)
      first(rig).end(hostFailed)
    }
  })

  test("a namespace that is paused then sends no probe; when resumed, it sends one at once", () => {
    const rig = openedRig()
    rig.set("a", 0)
    for (let second = 0; second < 10; second++) {
      rig.nowMs += 1_000
      rig.pump()
    }
    expect(rig.started.length).toBe(3)
    // Two timers still wait for the host, besides the one that waits for the end of the pause.
    expect(rig.dispatcher.breakers(10)[0]?.waiting).toBe(2)
    rig.set("a", 10)
    expect(rig.running.size).toBe(1)
    first(rig).end(delivered)
    while (rig.running.size > 0) first(rig).end(delivered)
    expect(rig.started.length).toBe(6)
  })

  test("when resumed, every host is probed whose probe was due within the pause", () => {
    const rig = openedRig()
    rig.nowMs += 500
    rig.submit("a", "worse", 6)
    for (let failure = 0; failure < 3; failure++) first(rig).end(hostFailed)
    rig.set("a", 0)
    for (let second = 0; second < 3; second++) {
      rig.nowMs += 500
      rig.pump()
    }
    rig.set("a", 10)
    expect([rig.inFlightOf("a", "bad"), rig.inFlightOf("a", "worse")]).toEqual([1, 1])
  })

  test("a probe that ends within a pause counts: a failure doubles the wait, a success ends it", () => {
    for (const [outcome, startedAtOnce] of [
      [hostFailed, 0],
      [delivered, 1],
    ] as const) {
      const rig = openedRig()
      rig.nowMs += 1_000
      rig.pump()
      rig.set("a", 0)
      first(rig).end(outcome)
      expect(rig.running.size).toBe(0)
      rig.set("a", 10)
      expect(rig.running.size).toBe(startedAtOnce)
      rig.nowMs += 2_000
      rig.pump()
      while (rig.running.size > 0) first(rig).end(delivered)
      expect(rig.waiting.size).toBe(0)
    }
  })

  test("a breaker is listed with its namespace, its failures, its waiting timers and its next probe", () => {
    const rig = openedRig()
    rig.nowMs += 400
    const [breaker, ...others] = rig.dispatcher.breakers(10)
    expect(others).toEqual([])
    expect(breaker).toEqual({
      host: "bad.test",
      namespace: "a",
      failures: failing.breaker.failures,
      waiting: rig.waiting.size,
      probeInMs: 600,
    })
    rig.nowMs += 5_000
    expect(rig.dispatcher.breakers(10)[0]?.probeInMs).toBe(0)
    expect(rig.dispatcher.breakers(0)).toEqual([])
  })

  test("when an operator closes a breaker, waiting timers start at once and failures count from zero", () => {
    const rig = openedRig()
    rig.submit("a", "good", 1)
    expect(rig.dispatcher.closeBreakers("good.test")).toBe(0)
    expect(rig.dispatcher.closeBreakers("bad.test")).toBe(1)
    expect(rig.dispatcher.breakers(10)).toEqual([])
    expect(rig.inFlightOf("a", "bad")).toBe(failing.inFlightPerHost)
    first(rig).end(hostFailed)
    expect(rig.dispatcher.openBreakers).toBe(0)
  })

  test("a refusal by the target is not a failure of the host", () => {
    const rig = new DispatcherRig(failing)
    rig.submit("a", "h", 20)
    while (rig.running.size > 0) first(rig).end(refused)
    expect(rig.started.length).toBe(20)
    expect(rig.dispatcher.openBreakers).toBe(0)
  })

  test("failures of hosts that are never used again are forgotten beyond the limit", () => {
    const rig = new DispatcherRig({ breaker: { ...failing.breaker, failures: 1 } })
    for (let host = 0; host < 25_000; host++) {
      rig.submit("a", `h${host}`, 1)
      first(rig).end(hostFailed)
    }
    expect(rig.dispatcher.openBreakers).toBeGreaterThan(0)
    expect(rig.dispatcher.openBreakers).toBeLessThanOrEqual(10_000)
  }, 30_000)

  test("a cancelled timer leaves its parked place", () => {
    const rig = openedRig()
    for (const timerId of [...rig.waiting.keys()]) rig.withdraw(timerId)
    expect(rig.dispatcher.readyCount).toBe(0)
    rig.nowMs += 10_000
    rig.pump()
    expect(rig.running.size).toBe(0)
  })
})
