// Hosts that do not answer: their attempts move to slow slots, and those who answer are served.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { networkTexts, timeoutTexts } from "../../../src/domain/errorClassOf.ts"
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
const hostFailed = { kind: "retry", error: "status 500", status: 500, isHostFailure: true } as const
const connectionRefused = { kind: "retry", error: `${networkTexts.refused}: h`, isHostFailure: true } as const
const timedOut: Delivery = { kind: "retry", error: `${timeoutTexts.webhook} h`, isHostFailure: true }
const silentAfterMs = 5_000

const limits = {
  inFlight: 200,
  slow: 40,
  trial: 0,
  inFlightPerNamespace: 100,
  inFlightPerHost: 64,
  unsettled: 4_000,
}

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
    age(rig, silentAfterMs)
    expect(rig.running.size).toBe(140)
    rig.submit("victim", "good", 30)
    expect(rig.inFlightOf("victim")).toBe(30)
  })

  test("do not delay a new host of a new namespace if there are slots for as many trials", () => {
    const rig = makeRig({ trial: 784 })
    rig.timeoutMs = 300_000
    attack(rig)
    expect(rig.running.size).toBe(400)
    rig.submit("new", "never-seen", 10)
    expect(rig.inFlightOf("new")).toBe(10)
    // The trials leave all normal slots to hosts that answer.
    expect(rig.dispatcher.load.inFlight).toBe(0)
    age(rig, silentAfterMs)
    rig.submit("newer", "never-seen", 10)
    expect([rig.inFlightOf("newer"), rig.abandoned.length]).toEqual([10, 0])
  })

  test("delay a new host by 5 s for each time that they fill the trial slots, and not by their timeouts", () => {
    const rig = makeRig()
    rig.timeoutMs = 300_000
    attack(rig)
    rig.submit("new", "never-seen", 1)
    expect(rig.inFlightOf("new")).toBe(0)
    for (let round = 0; round < 4; round++) for (let second = 0; second < 5; second++) age(rig, 1_000)
    expect(rig.inFlightOf("new")).toBe(1)
    // All of them had a trial. Those that were abandoned wait for slow slots.
    expect(new Set(rig.started).size).toBe(401)
    expect(new Set(rig.abandoned).size).toBe(rig.abandoned.length)
  })

  test("are all tried in turn, and then use only slow slots", () => {
    const rig = makeRig()
    attack(rig)
    for (let round = 0; round < 100 && rig.waiting.size + rig.running.size > 0; round++) {
      const old = [...rig.running]
      age(rig, 15_000)
      for (const running of old) if (rig.running.has(running)) running.end(timedOut)
    }
    expect(new Set(rig.started).size).toBe(400)
    expect(rig.waiting.size).toBe(0)
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

describe("a silent attempt", () => {
  test("goes on while no other attempt needs its slot", () => {
    const rig = makeRig({ inFlight: 4, slow: 1 })
    attack(rig, 2)
    for (let second = 0; second < 300; second++) age(rig, 1_000)
    expect([rig.running.size, rig.abandoned.length]).toEqual([2, 0])
  })

  test("ends if another attempt needs its slot, uses no attempt, and then waits for a slow slot", () => {
    const rig = makeRig({ inFlight: 4, slow: 1 })
    attack(rig, 2)
    age(rig, silentAfterMs - 1)
    rig.submit("new", "h", 2)
    expect([rig.inFlightOf("new"), rig.abandoned.length]).toEqual([0, 0])
    // The first silent attempt moves to the slow slot, and the second makes room.
    age(rig, 1)
    age(rig, 1)
    expect([rig.inFlightOf("new"), rig.abandoned.length]).toEqual([1, 1])
    const [abandoned = ""] = rig.abandoned
    const namespace = abandoned.split("-")[0] ?? ""
    expect(rig.dispatcher.queueOf(namespace)?.hosts.get(`${abandoned.split("-")[1]}.test`)?.waitsFor).toBe(
      "slow",
    )
    for (const running of [...rig.running]) running.end(delivered)
    expect(of(rig, namespace).map(({ timerId, attempt }) => [timerId, attempt])).toEqual([[abandoned, 1]])
    // A slow slot is not taken away.
    for (let second = 0; second < 300; second++) age(rig, 1_000)
    expect(rig.abandoned.length).toBe(1)
  })

  test("of a host that answered before ends too if all slots are taken", () => {
    const rig = makeRig({ inFlight: 4, slow: 1 })
    for (let index = 0; index < 5; index++) prove(rig, `n${index}`, "h")
    for (let index = 0; index < 4; index++) rig.submit(`n${index}`, "h", 1)
    rig.submit("n4", "h", 1)
    expect([rig.running.size, rig.inFlightOf("n4")]).toEqual([4, 0])
    age(rig, silentAfterMs)
    expect(rig.inFlightOf("n4")).toBe(1)
    // One moved to the slow slot, so nothing had to end. The next ones need the other slots.
    expect(rig.abandoned.length).toBe(0)
    prove(rig, "n5", "h")
    expect(rig.abandoned.length).toBe(1)
    expect(rig.started.some((id) => id.startsWith("n5"))).toBe(true)
  })

  test("of a timer that was cancelled meanwhile only ends", () => {
    const rig = makeRig({ inFlight: 4, slow: 1 })
    attack(rig, 2)
    for (const { timerId } of rig.running) rig.cancelInFlight(timerId)
    for (const namespace of ["a", "b"]) rig.submit(namespace, "h", 1)
    for (let second = 0; second < 12; second++) age(rig, 1_000)
    expect(rig.abandoned.length).toBe(1)
    for (let round = 0; round < 9; round++) for (const running of [...rig.running]) running.end(delivered)
    expect(rig.started.length).toBe(4)
    expect([rig.waiting.size, rig.dispatcher.readyCount]).toEqual([0, 0])
  })

  test("makes room for others only if there is none, and for its own namespace at once", () => {
    const rig = makeRig({ inFlight: 16, slow: 1 })
    // The second attempt finds no slow slot.
    attack(rig, 2)
    age(rig, silentAfterMs)
    for (const host of ["h0", "h1", "h2", "h3", "h4"]) rig.submit("a", host, 1)
    age(rig, 1)
    // The namespace leaves as many trial slots free as it uses.
    expect([rig.inFlightOf("a"), rig.abandoned.length]).toEqual([4, 0])
    age(rig, silentAfterMs)
    age(rig, 1)
    expect([rig.inFlightOf("a", "h4"), rig.inFlightOf("hang1")]).toEqual([1, 1])
  })

  test("is not repeated for other timers of its own host", () => {
    const rig = makeRig({ inFlight: 4, slow: 1 })
    attack(rig, 1)
    rig.submit("a", "h", 3)
    for (let second = 0; second < 60; second++) age(rig, 1_000)
    expect([rig.inFlightOf("a"), rig.abandoned.length]).toEqual([1, 0])
  })

  test("of a new host that uses an additional slot does not end for hosts that need normal slots", () => {
    const rig = makeRig({ inFlight: 2, slow: 1, trial: 2 })
    for (const namespace of ["a", "b", "c"]) prove(rig, namespace, "h")
    attack(rig, 3)
    age(rig, silentAfterMs)
    for (const namespace of ["a", "b", "c"]) rig.submit(namespace, "h", 1)
    age(rig, 1)
    expect([rig.running.size, rig.waiting.size, rig.abandoned.length]).toEqual([5, 1, 0])
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

  for (const end of [hostFailed, connectionRefused]) {
    test(`that fails promptly (${end.error}) has normal slots, because it was not silent`, () => {
      const rig = makeRig()
      rig.submit("a", "h", 1)
      for (const running of of(rig, "a")) running.end(end)
      attack(rig)
      expect(rig.running.size).toBe(100)
      rig.submit("a", "h", 10)
      expect(rig.inFlightOf("a")).toBe(10)
    })
  }

  test("that does not answer within a timeout of less than 5 s is on trial again", () => {
    const rig = makeRig({ inFlight: 8, slow: 2 })
    prove(rig, "a", "h")
    rig.submit("a", "h", 8)
    expect(rig.inFlightOf("a")).toBe(4)
    for (const running of of(rig, "a")) running.end(timedOut)
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
  const namespace = new NamespaceQueue("a", false)
  const traits = { isThere: () => true, silentAfterMs, standing: "unknown" } as const
  const host = new HostQueue("h", rigLimits.breaker, traits)
  waiters.add("trial", host, namespace)
  waiters.add("slow", host, namespace)
  let looks = 0
  host.parked.push(new Entry(sampleTimer(), makeRig().home))
  waiters.releaseAll(new Slots({ inFlight: 10, slow: 2, trial: 0 }), () => looks++)
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
  const small = {
    inFlight: 10,
    slow: 3,
    trial: 2,
    inFlightPerNamespace: 6,
    inFlightPerHost: 3,
    unsettled: 1_000,
  }
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          op: fc.constantFrom("submit", "submit", "end", "fail", "timeOut", "age", "withdraw"),
          namespace: fc.constantFrom("a", "b", "c", "d", "e"),
          host: fc.constantFrom("h1", "h2", "h3"),
          place: fc.nat(20),
        }),
        { maxLength: 100, size: "max" },
      ),
      (sequence) => {
        const rig = makeRig(small)
        for (const { op, namespace, host, place } of sequence) {
          const running = [...rig.running][place % Math.max(1, rig.running.size)]
          if (op === "submit") rig.submit(namespace, host, 1 + (place % 4))
          if (op === "end") running?.end(delivered)
          if (op === "fail") running?.end(hostFailed)
          if (op === "timeOut") running?.end(timedOut)
          if (op === "age") age(rig, 1_000 * place)
          if (op === "withdraw") rig.withdraw([...rig.waiting.keys()][place] ?? "")
          expect(rig.running.size).toBeLessThanOrEqual(small.inFlight + small.slow + small.trial)
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
        // A timer starts again only if its attempt was abandoned.
        const again = [...rig.started]
        for (const timerId of new Set([...rig.started, ...rig.abandoned]))
          again.splice(again.indexOf(timerId), 1)
        for (const timerId of rig.abandoned) {
          if (again.includes(timerId)) again.splice(again.indexOf(timerId), 1)
        }
        expect(again).toEqual([])
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
