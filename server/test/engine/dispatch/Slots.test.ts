// Hosts that do not answer: their attempts move to slow slots, and those who answer are served.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { HostQueue, NamespaceQueue } from "../../../src/engine/dispatch/DispatchQueues.ts"
import { HostStandings } from "../../../src/engine/dispatch/HostStandings.ts"
import { Slots } from "../../../src/engine/dispatch/Slots.ts"
import { SlotWaiters } from "../../../src/engine/dispatch/SlotWaiters.ts"
import { Entry } from "../../../src/engine/window/Entry.ts"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { DispatcherRig, type Running, rigLimits } from "../../../testkit/DispatcherRig.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { sampleTimer } from "../../../testkit/timers.ts"

const delivered: Delivery = { kind: "delivered" }
const hostFailed: Delivery = { kind: "retry", error: "no answer", isHostFailure: true }
const silentAfterMs = 5_000

const limits = { inFlight: 200, slow: 40, inFlightPerNamespace: 100, inFlightPerHost: 64, unsettled: 4_000 }

const makeRig = (more: Partial<typeof limits> = {}) =>
  new DispatcherRig({ ...limits, ...more }, silentAfterMs)

const of = (rig: DispatcherRig, namespace: string): ReadonlyArray<Running> =>
  [...rig.running].filter((running) => running.namespace === namespace)

/** The host answers once, so it is known to answer. */
const prove = (rig: DispatcherRig, namespace: string, host: string): void => {
  rig.submit(namespace, host, 1)
  for (const running of of(rig, namespace)) running.end(delivered)
}

/** One hanging endpoint in each of 400 namespaces. */
const attack = (rig: DispatcherRig, namespaces = 400): void => {
  for (let index = 0; index < namespaces; index++) rig.submit(`hang${index}`, `h${index}`, 1)
}

const age = (rig: DispatcherRig, ms: number): void => {
  rig.nowMs += ms
  rig.pump()
}

describe("400 namespaces with a hanging endpoint each", () => {
  test("take at most half of the slots and the slow slots, and a host that answers is served at once", () => {
    const rig = makeRig()
    prove(rig, "victim", "good")
    attack(rig)
    expect(rig.running.size).toBe(100)
    for (let step = 0; step < 10; step++) age(rig, silentAfterMs)
    expect(rig.running.size).toBe(140)
    expect(rig.dispatcher.slowInFlight).toBe(140)
    rig.submit("victim", "good", 30)
    expect(rig.inFlightOf("victim")).toBe(30)
  })

  test("with long timeouts take at most the slow share twice, so a new host with a usual timeout starts at once", () => {
    const rig = makeRig()
    rig.timeoutMs = 300_000
    attack(rig)
    expect(rig.running.size).toBe(40)
    for (let step = 0; step < 10; step++) age(rig, silentAfterMs)
    expect(rig.running.size).toBe(80)
    rig.timeoutMs = 15_000
    rig.submit("new", "never-seen", 10)
    expect(rig.inFlightOf("new")).toBe(10)
  })

  test("are all tried in turn as earlier ones end, and then use only slow slots", () => {
    const rig = makeRig()
    attack(rig)
    for (let round = 0; round < 60 && rig.waiting.size + rig.running.size > 0; round++) {
      const old = [...rig.running]
      age(rig, 15_000)
      for (const running of old) running.end(hostFailed)
    }
    expect(rig.started.length).toBe(400)
    attack(rig)
    expect(rig.running.size).toBe(40)
    rig.submit("new", "never-seen", 10)
    expect(rig.inFlightOf("new")).toBe(10)
    for (let round = 0; round < 60 && rig.running.size > 0; round++) {
      for (const running of [...rig.running]) running.end(delivered)
    }
    expect(rig.waiting.size).toBe(0)
  })
})

describe("a host", () => {
  test("that answers late uses slow slots, and normal slots again after a quick answer", () => {
    const rig = makeRig({ inFlight: 10, slow: 4 })
    prove(rig, "a", "h")
    rig.submit("a", "h", 1)
    age(rig, silentAfterMs)
    expect(rig.dispatcher.slowInFlight).toBe(1)
    // Its next timers need slow slots too, and leave some free for other namespaces.
    rig.submit("a", "h", 8)
    expect(rig.inFlightOf("a")).toBe(2)
    expect(rig.dispatcher.queueOf("a")?.hosts.get("h.test")?.waitsFor).toBe("slow")
    for (const running of of(rig, "a").slice(0, 1)) running.end(delivered)
    expect(rig.dispatcher.slowInFlight).toBe(2)
    for (const running of of(rig, "a").slice(0, 1)) running.end(delivered)
    expect(rig.dispatcher.queueOf("a")?.hosts.get("h.test")?.waitsFor).toBeUndefined()
    expect(rig.inFlightOf("a")).toBeGreaterThan(2)
    while (rig.running.size > 0) for (const running of [...rig.running]) running.end(delivered)
    expect(rig.waiting.size).toBe(0)
    expect(rig.dispatcher.slowInFlight).toBe(0)
  })

  test("that was silent is remembered after its last attempt, for its own namespace only", () => {
    const rig = makeRig({ inFlight: 10, slow: 1 })
    rig.submit("a", "h", 1)
    age(rig, silentAfterMs)
    for (const running of [...rig.running]) running.end(delivered)
    expect(rig.dispatcher.queueOf("a")).toBeUndefined()
    rig.submit("a", "h", 2)
    rig.submit("b", "h", 2)
    expect([rig.inFlightOf("a"), rig.inFlightOf("b")]).toEqual([1, 2])
  })

  test("that fails quickly is on trial again", () => {
    const rig = makeRig({ inFlight: 8, slow: 2 })
    prove(rig, "a", "h")
    rig.submit("a", "h", 8)
    expect(rig.inFlightOf("a")).toBe(4)
    for (const running of of(rig, "a")) running.end(hostFailed)
    // A trial leaves as many trial slots free as the namespace uses.
    expect(rig.inFlightOf("a")).toBe(2)
  })
})

/** A lookup that never started: the attempt says nothing about its host. */
const notSent: Delivery = { kind: "retry", error: "the lookup did not start", isHostFailure: false }

describe("an attempt that sent nothing", () => {
  test("does not make an unknown host one that answers", () => {
    const rig = makeRig()
    rig.sends = false
    attack(rig)
    expect(rig.running.size).toBe(100)
    for (let round = 0; round < 8; round++) for (const running of [...rig.running]) running.end(notSent)
    rig.sends = true
    attack(rig)
    expect(rig.running.size).toBe(100)
  })

  test("does not change what is known about a host that answers", () => {
    const rig = makeRig({ inFlight: 8, slow: 2 })
    prove(rig, "a", "h")
    rig.sends = false
    rig.submit("a", "h", 1)
    for (const running of [...rig.running]) running.end(notSent)
    rig.submit("a", "h", 8)
    expect(rig.inFlightOf("a")).toBe(4)
  })

  test("closes no breaker, and another attempt is the probe", () => {
    const breaker = { failures: 1, firstPauseMs: 1_000, longestPauseMs: 1_000 }
    const rig = new DispatcherRig({ ...limits, breaker }, silentAfterMs)
    rig.submit("a", "h", 1)
    for (const running of [...rig.running]) running.end(hostFailed)
    rig.submit("a", "h", 3)
    rig.sends = false
    age(rig, 1_000)
    expect(rig.running.size).toBe(1)
    for (const running of [...rig.running]) running.end(notSent)
    expect([rig.dispatcher.openBreakers, rig.running.size]).toEqual([1, 1])
    // Only the probe runs.
    age(rig, 1_000)
    expect(rig.running.size).toBe(1)
    rig.sends = true
    for (const running of [...rig.running]) running.end(notSent)
    for (const running of [...rig.running]) running.end(delivered)
    expect(rig.dispatcher.openBreakers).toBe(0)
  })
})

test("a host with an open breaker that waits for a slow slot is probed when there is one", () => {
  const breaker = { failures: 1, firstPauseMs: 1_000, longestPauseMs: 1_000 }
  const rig = new DispatcherRig({ ...limits, inFlight: 10, slow: 1, breaker }, silentAfterMs)
  for (const namespace of ["a", "b"]) rig.submit(namespace, "h", 1)
  age(rig, silentAfterMs)
  for (const running of [...rig.running]) running.end(hostFailed)
  expect(rig.dispatcher.openBreakers).toBe(2)
  for (const namespace of ["a", "b"]) rig.submit(namespace, "h", 3)
  expect(rig.running.size).toBe(0)
  age(rig, 1_000)
  expect(rig.running.size).toBe(1)
  for (let round = 0; round < 10 && rig.waiting.size + rig.running.size > 0; round++) {
    for (const running of [...rig.running]) running.end(delivered)
    age(rig, 1_000)
  }
  expect(rig.waiting.size).toBe(0)
})

test("a silent attempt that found no slow slot moves when one becomes free", () => {
  const rig = makeRig({ inFlight: 10, slow: 1 })
  for (const namespace of ["a", "b"]) rig.submit(namespace, "h", 1)
  age(rig, silentAfterMs)
  expect([rig.dispatcher.load.inFlight, rig.dispatcher.slowInFlight]).toEqual([1, 2])
  for (const running of of(rig, "a")) running.end(delivered)
  expect([rig.dispatcher.load.inFlight, rig.dispatcher.slowInFlight]).toEqual([0, 1])
})

test("a host waits for slots of one class", () => {
  const waiters = new SlotWaiters()
  const namespace = new NamespaceQueue("a")
  const traits = { isThere: () => true, silentAfterMs, standing: "unknown" } as const
  const host = new HostQueue("h", rigLimits.breaker, traits)
  waiters.add("trial", host, namespace)
  waiters.add("slow", host, namespace)
  let looks = 0
  host.parked.push(new Entry(sampleTimer(), makeRig().home))
  waiters.releaseAll(new Slots({ inFlight: 10, slow: 2 }), () => looks++)
  expect([looks, host.waitsFor]).toEqual([1, "slow"])
})

test("without slow slots every attempt uses a normal slot", () => {
  const rig = makeRig({ slow: 0 })
  attack(rig)
  expect(rig.running.size).toBe(200)
  age(rig, silentAfterMs)
  expect(rig.dispatcher.slowInFlight).toBe(0)
})

test("any sequence keeps the limits, and everything starts in the end", () => {
  const small = { inFlight: 10, slow: 3, inFlightPerNamespace: 6, inFlightPerHost: 3, unsettled: 1_000 }
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          op: fc.constantFrom("submit", "submit", "end", "fail", "age", "withdraw"),
          namespace: fc.constantFrom("a", "b", "c", "d", "e"),
          host: fc.constantFrom("h1", "h2", "h3"),
          isLong: fc.boolean(),
          place: fc.nat(20),
        }),
        { maxLength: 100, size: "max" },
      ),
      (sequence) => {
        const rig = makeRig(small)
        for (const { op, namespace, host, isLong, place } of sequence) {
          const running = [...rig.running][place % Math.max(1, rig.running.size)]
          rig.timeoutMs = isLong ? 60_000 : 15_000
          if (op === "submit") rig.submit(namespace, host, 1 + (place % 4))
          if (op === "end") running?.end(delivered)
          if (op === "fail") running?.end(hostFailed)
          if (op === "age") age(rig, 1_000 * place)
          if (op === "withdraw") rig.withdraw([...rig.waiting.keys()][place] ?? "")
          expect(rig.running.size).toBeLessThanOrEqual(small.inFlight + small.slow)
          expect(rig.dispatcher.load.inFlight).toBeLessThanOrEqual(small.inFlight)
          expect(rig.dispatcher.load.inFlight).toBeGreaterThanOrEqual(0)
        }
        for (let round = 0; round < 1_000 && rig.running.size + rig.waiting.size > 0; round++) {
          for (const running of [...rig.running]) running.end(delivered)
          rig.pump()
        }
        expect(rig.waiting.size).toBe(0)
        expect(rig.dispatcher.readyCount).toBe(0)
        expect(rig.dispatcher.slowInFlight).toBe(0)
        expect(rig.dispatcher.load.inFlight).toBe(0)
        expect(new Set(rig.started).size).toBe(rig.started.length)
      },
    ),
    { numRuns: runsOf(300) },
  )
})

test("standings are limited for each namespace and in all, and the latest stay", () => {
  const standings = new HostStandings(10, 4)
  for (let host = 0; host < 20; host++) standings.note("large", `h${host}`, "silent")
  expect(standings.size).toBe(4)
  expect([standings.of("large", "h15"), standings.of("large", "h19")]).toEqual(["unknown", "silent"])
  for (let namespace = 0; namespace < 20; namespace++) standings.note(`n${namespace}`, "h", "answers")
  expect(standings.size).toBe(10)
  expect([standings.of("large", "h19"), standings.of("n19", "h")]).toEqual(["unknown", "answers"])
  standings.note("n19", "h", "unknown")
  expect([standings.size, standings.of("n19", "h")]).toEqual([9, "unknown"])
})
