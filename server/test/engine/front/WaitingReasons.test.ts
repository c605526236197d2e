// Why a due timer has not started: each reason, since when it holds, and that it goes when the cause has gone.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import {
  editSettings,
  pauseService,
  resumeService,
  type SettingsEdit,
} from "../../../src/domain/editSettings.ts"
import type { ServiceSettings } from "../../../src/domain/NamespaceSettings.ts"
import { keyOf, shardOf } from "../../../src/domain/TimerKey.ts"
import { serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import {
  type EngineHarness,
  type EngineNode,
  engineTest,
  hostFailed,
  refused,
} from "../../../testkit/EngineHarness.ts"
import { sampleNow, sampleSpec } from "../../../testkit/timers.ts"

const put = (engine: EngineHarness, namespace: string, edit: SettingsEdit) =>
  engine.node.directory.change(namespace, engine.now(), (settings) =>
    Effect.succeed(editSettings(settings, edit, engine.now())),
  )

const editService = (engine: EngineHarness, edit: (settings: ServiceSettings) => ServiceSettings) =>
  engine.node.directory.change(serviceRecord, engine.now(), (settings) => Effect.succeed(edit(settings)))

const viewOf = (engine: EngineHarness, timerId: string, node: EngineNode = engine.node) =>
  Effect.map(node.scheduler.get("shop", timerId), (view) => {
    if (view === undefined || !("timer" in view)) throw new Error(`${timerId} is not pending`)
    return view
  })

/** What is shown of it, and since how long after the start. */
const waitingOf = (engine: EngineHarness, timerId: string, node?: EngineNode) =>
  Effect.map(viewOf(engine, timerId, node), (view) => {
    const waiting = view.state === "pending" ? view.waiting : undefined
    return waiting === undefined ? undefined : { ...waiting, sinceMs: waiting.sinceMs - sampleNow }
  })

const listed = (engine: EngineHarness, node: EngineNode = engine.node) =>
  Effect.map(
    node.scheduler.list({
      ...{ namespace: "shop", state: "pending", reversed: false, includePayload: false, limit: 1_000 },
    }),
    ({ timers }) =>
      timers.map((view) => (view.state === "pending" ? (view.waiting?.reason ?? "pending") : view.state)),
  )

const handler = { target: { type: "handler" } } as const

describe("a paused namespace", () => {
  engineTest("is the reason from the due time on, or from the pause if that came later", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, "shop", { paused: true })
      yield* engine.create({ timerId: "later", inMs: 60_000 })
      yield* engine.create({ timerId: "soon", inMs: 1_000 })
      const armed = yield* engine.create({ timerId: "now" })
      if (!("timer" in armed)) throw new Error(armed.result)
      // What creates and updates answer says it, too.
      expect(engine.node.scheduler.viewWhenArmed(armed.timer)).toMatchObject({
        state: "pending",
        waiting: { reason: "paused" },
      })
      yield* engine.advance(5_000)
      expect(yield* waitingOf(engine, "later")).toBeUndefined()
      const detail = "The namespace shop is paused."
      expect(yield* waitingOf(engine, "soon")).toEqual({ reason: "paused", sinceMs: 1_000, detail })
      yield* put(engine, "shop", { paused: false })
      yield* engine.still
      yield* put(engine, "shop", { paused: true, pauseReason: "a move" })
      yield* engine.advance(1_000)
      yield* engine.create({ timerId: "past", executeAt: engine.now() - 3_600_000 })
      yield* engine.advance(10)
      // It is due since it was armed, not since the instant that it was armed for.
      expect(yield* waitingOf(engine, "past")).toEqual({
        reason: "paused",
        sinceMs: 6_000,
        detail: "The namespace shop is paused. The reason given: a move.",
      })
    }),
  )

  engineTest("is no reason for an attempt that runs, nor before the next one is due", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "t" })
      yield* engine.advance(1_000)
      yield* put(engine, "shop", { paused: true })
      expect(yield* viewOf(engine, "t")).toMatchObject({ state: "inFlight", startedAt: sampleNow })
      expect(yield* waitingOf(engine, "t")).toBeUndefined()
      yield* hanging.end("t", refused)
      expect((yield* viewOf(engine, "t")).state).toBe("pending")
      expect(yield* waitingOf(engine, "t")).toBeUndefined()
      yield* engine.advance(10_000)
      const { timer } = yield* viewOf(engine, "t")
      const sinceMs = timer.fireAt - sampleNow
      expect(yield* waitingOf(engine, "t")).toMatchObject({ reason: "paused", sinceMs })
    }),
  )
})

engineTest("what another node has read too early or too late is not said to wait", {}, (engine) =>
  Effect.gen(function* () {
    const { scheduler } = engine.node
    engine.absent.add("shop")
    const armed = yield* engine.create({ timerId: "t", inMs: 30_000, ...handler })
    if (!("timer" in armed)) throw new Error(armed.result)
    const { namespace, uuid, fireId, fireAt, updatedAt } = armed.timer
    const target = { targetType: "handler", host: "handler" } as const
    const asked = { namespace, uuid, fireId, fireAt, updatedAt, ...target }
    const early = { ...asked, fireAt: engine.now() - 1 }
    const elsewhere = { ...asked, uuid: keyOf("shop", "unknown").uuid }
    // Not due by the clock; retried meanwhile; armed anew meanwhile; not in memory and not due.
    expect(scheduler.firingHere([asked, early, { ...early, fireId: "before" }, elsewhere])).toEqual([
      ...[{}, {}, {}, {}],
    ])
    yield* engine.advance(31_000)
    expect(scheduler.firingHere([asked])).toMatchObject([{ waiting: { reason: "noSubscriber" } }])
  }),
)

engineTest("an attempt whose outcome is being stored waits for nothing", {}, (engine) =>
  Effect.gen(function* () {
    const hanging = engine.hang()
    yield* engine.create({ timerId: "t" })
    yield* engine.advance(10)
    yield* put(engine, "shop", { paused: true })
    const gate = engine.faults.holdCall("write")
    yield* hanging.end("t", refused)
    const { state, timer } = yield* viewOf(engine, "t")
    expect([state, timer.fireAt, timer.attempts]).toEqual(["pending", sampleNow, 0])
    expect(yield* waitingOf(engine, "t")).toBeUndefined()
    yield* gate.release
  }),
)

describe("a paused service", () => {
  engineTest("is told before everything else, with the operator's reason", {}, (engine) =>
    Effect.gen(function* () {
      yield* put(engine, "shop", { paused: true })
      yield* engine.create({ timerId: "t" })
      yield* engine.advance(2_000)
      yield* editService(engine, (settings) => pauseService(settings, "moving the ledger", engine.now()))
      expect(yield* waitingOf(engine, "t")).toEqual({
        reason: "servicePaused",
        sinceMs: 2_000,
        detail: "All firing is paused. The reason given: moving the ledger.",
      })
      yield* editService(engine, (settings) => resumeService(settings, engine.now()))
      expect(yield* waitingOf(engine, "t")).toMatchObject({ reason: "paused", sinceMs: 0 })
    }),
  )

  engineTest("after a restore says that somebody has to decide", {}, (engine) =>
    Effect.gen(function* () {
      yield* editService(engine, () => ({ pause: { sinceMs: engine.now() - 5_000, kind: "restored" } }))
      yield* engine.create({ timerId: "t" })
      yield* engine.advance(10)
      const waiting = yield* waitingOf(engine, "t")
      expect(waiting).toMatchObject({ reason: "servicePaused", sinceMs: 0 })
      expect(waiting?.detail).toStartWith("The store was restored from a backup.")
    }),
  )
})

engineTest(
  "an open breaker is the reason for its host alone, since it opened; a probe that fails does not begin it anew",
  { dispatch: { inFlightPerHost: 10 } },
  (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang(({ timerId }) => timerId.startsWith("bad"))
      for (let index = 0; index < 21; index++) yield* engine.create({ timerId: `bad-${index}` })
      yield* engine.advance(700)
      expect(yield* waitingOf(engine, "bad-20")).toMatchObject({ reason: "congested", sinceMs: 0 })
      // Until the tenth has failed, each makes room for another.
      for (let index = 0; index < 10; index++) yield* hanging.end(`bad-${index}`, hostFailed)
      yield* engine.advance(300)
      const failed = (times: number, next: string) =>
        `example.test failed ${times} times in a row, so the service sends nothing to it for now. ${next}`
      expect(yield* waitingOf(engine, "bad-20")).toEqual({
        ...{ reason: "breaker", sinceMs: 700 },
        detail: failed(10, "The next attempt starts in 1s."),
      })
      // What has failed waits for its next attempt.
      expect(yield* waitingOf(engine, "bad-0")).toBeUndefined()
      const elsewhere = { ...sampleSpec.target, url: "https://well.test/" } as const
      yield* engine.create({ timerId: "other", target: elsewhere })
      yield* engine.advance(1_500)
      expect(engine.stored("other").last?.state).toBe("delivered")
      expect((yield* viewOf(engine, "bad-19")).state).toBe("inFlight")
      expect(yield* waitingOf(engine, "bad-20")).toMatchObject({
        ...{ sinceMs: 700, detail: failed(10, "One attempt runs now to test it.") },
      })
      yield* hanging.end("bad-19", hostFailed)
      expect(yield* waitingOf(engine, "bad-20")).toMatchObject({
        ...{ sinceMs: 700, detail: failed(11, "The next attempt starts in 2s.") },
      })
      engine.node.engine.closeBreakers("example.test")
      yield* engine.still
      expect((yield* viewOf(engine, "bad-20")).state).toBe("inFlight")
    }),
)

describe("a target that nobody serves", () => {
  engineTest("is the reason since a due timer found nobody, until somebody arrives", {}, (engine) =>
    Effect.gen(function* () {
      engine.absent.add("shop")
      yield* engine.create({ timerId: "t", inMs: 1_000, ...handler })
      expect(yield* waitingOf(engine, "t")).toBeUndefined()
      yield* engine.advance(3_000)
      const detail = "There is no handler."
      expect(yield* waitingOf(engine, "t")).toEqual({ reason: "noSubscriber", sinceMs: 1_000, detail })
      yield* engine.create({ timerId: "later", ...handler })
      yield* engine.advance(1_000)
      expect(yield* waitingOf(engine, "later")).toMatchObject({ sinceMs: 3_000 })
      expect(yield* waitingOf(engine, "t")).toMatchObject({ sinceMs: 1_000 })
      engine.arrive("shop")
      yield* engine.still
      expect(engine.stored("t").last?.state).toBe("delivered")
    }),
  )

  engineTest("does not count the time before this process ran", { isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      const first = yield* engine.startNode("node-1")
      engine.absent.add("shop")
      yield* engine.create({ timerId: "t", ...handler })
      yield* engine.advance(1_000)
      yield* first.kill
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(60_000)
      const waiting = yield* waitingOf(engine, "t", second)
      expect(waiting?.reason).toBe("noSubscriber")
      expect(waiting?.sinceMs).toBeGreaterThan(1_000)
    }),
  )
})

describe("bounds in flight", () => {
  const congested = (
    title: string,
    limits: Partial<Record<"inFlight" | "inFlightPerNamespace" | "inFlightPerHost", number>>,
    edit: SettingsEdit,
    detail: string,
  ) =>
    engineTest(title, { dispatch: limits }, (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* put(engine, "shop", edit)
        for (let index = 0; index < 6; index++) yield* engine.create({ timerId: `t-${index}` })
        yield* engine.advance(2_000)
        const states = yield* listed(engine)
        const [last] = states.flatMap((state, index) => (state === "congested" ? [index] : []))
        expect(new Set(states)).toEqual(new Set(["inFlight", "congested"]))
        expect(yield* waitingOf(engine, `t-${last}`)).toEqual({ reason: "congested", sinceMs: 0, detail })
        yield* hanging.endAll()
        expect(yield* listed(engine)).toEqual([])
      }),
    )

  congested(
    "of the namespace's own settings",
    {},
    { maxInFlight: 2 },
    "The namespace shop has 2 deliveries in flight on this node, which is the limit by its maxInFlight.",
  )
  congested(
    "of any namespace",
    { inFlightPerNamespace: 3 },
    {},
    "The namespace shop has 3 deliveries in flight, which is the limit of a namespace (TIMER_MAX_IN_FLIGHT_PER_NAMESPACE).",
  )
  congested(
    "of a host",
    { inFlightPerHost: 4 },
    {},
    "4 deliveries to example.test are in flight, which is the limit of a namespace for one host (TIMER_MAX_IN_FLIGHT_PER_HOST).",
  )
  congested(
    "of what is kept free for others",
    { inFlight: 4 },
    {},
    "The namespace shop has 2 of 2 deliveries in flight. The node keeps the rest of its 4 free for other namespaces (TIMER_MAX_IN_FLIGHT).",
  )

  engineTest(
    "of hosts that have not answered yet, and of hosts that were silent",
    { dispatch: { inFlight: 8, slow: 2, trial: 0 }, silentAfterMs: 5_000 },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        for (let index = 0; index < 6; index++) yield* engine.create({ timerId: `t-${index}` })
        yield* engine.advance(1_000)
        const detailOf = (timerId: string) =>
          Effect.map(waitingOf(engine, timerId), (waiting) => waiting?.detail)
        expect(yield* detailOf("t-5")).toBe(
          "example.test has not answered an attempt yet, so the timer waits for a place among such hosts. This node runs at most 4 deliveries to them at once, and keeps some places free for other namespaces.",
        )
        yield* engine.advance(6_000)
        yield* engine.node.engine.sample
        expect(yield* engine.metric("timer_slow_in_flight")).toBe(2)
        expect(yield* detailOf("t-5")).toBe(
          "example.test did not answer its last attempt for 5s, so the timer waits for a place among slow hosts. This node runs at most 2 deliveries to such hosts at once (TIMER_SLOW_SHARE), and keeps some places free for other namespaces.",
        )
        yield* hanging.endAll()
        yield* engine.advance(60_000)
        expect(yield* listed(engine)).toEqual([])
      }),
  )

  engineTest("of large payloads in a second", {}, (engine) =>
    Effect.gen(function* () {
      engine.hang()
      for (let index = 0; index < 6; index++)
        yield* engine.create({ timerId: `t-${index}`, inMs: 1_000, payload: new Uint8Array(60_000) })
      yield* engine.advance(1_000)
      expect(yield* listed(engine)).toEqual([...Array(3).fill("inFlight"), ...Array(3).fill("congested")])
      const detail =
        "All deliveries of this node together send at most 16 MiB of payloads above 8 KiB in a second, so that they do not delay others."
      expect(yield* waitingOf(engine, "t-5")).toEqual({ reason: "congested", sinceMs: 1_000, detail })
      yield* engine.advance(10)
      expect(yield* waitingOf(engine, "t-5")).toBeUndefined()
    }),
  )

  engineTest("of new namespaces in some milliseconds", {}, (engine) =>
    Effect.gen(function* () {
      engine.hang()
      for (let index = 0; index < 110; index++)
        yield* engine.create({ namespace: `a-${index}`, inMs: 60_000 })
      yield* engine.create({ timerId: "t", inMs: 60_000 })
      yield* engine.advance(60_000)
      expect(yield* waitingOf(engine, "t")).toMatchObject({
        ...{ reason: "congested", sinceMs: 60_000 },
        detail: expect.stringContaining("has had no delivery since this node started"),
      })
      yield* engine.advance(100)
      expect(yield* waitingOf(engine, "t")).toBeUndefined()
    }),
  )

  engineTest("of the whole node", { dispatch: { inFlight: 2 } }, (engine) =>
    Effect.gen(function* () {
      engine.hang()
      for (const namespace of ["a", "b"]) yield* engine.create({ namespace })
      yield* engine.advance(1_000)
      yield* engine.create({ timerId: "t" })
      yield* engine.advance(1_000)
      expect(yield* waitingOf(engine, "t")).toMatchObject({
        ...{ reason: "congested", sinceMs: 1_000 },
        detail: "This node runs 2 deliveries, which is its limit (TIMER_MAX_IN_FLIGHT).",
      })
    }),
  )

  engineTest("are no reason for the time of a pause before", { dispatch: { inFlightPerHost: 1 } }, (engine) =>
    Effect.gen(function* () {
      engine.hang()
      yield* put(engine, "shop", { paused: true })
      for (let index = 0; index < 2; index++) yield* engine.create({ timerId: `t-${index}` })
      yield* engine.advance(3_000)
      yield* put(engine, "shop", { paused: false })
      yield* engine.advance(1_000)
      expect(yield* waitingOf(engine, "t-1")).toMatchObject({ reason: "congested", sinceMs: 3_000 })
    }),
  )

  engineTest(
    "hold for a backlog that does not fit into memory",
    { window: { timers: 40, page: 10 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        const commands = Array.from({ length: 600 }, (_, index) =>
          engine.command({ timerId: `t-${index}`, executeAt: engine.now() - 1_000 + index }),
        )
        yield* engine.node.scheduler.createMany(commands)
        yield* engine.advance(2_000)
        const states = yield* listed(engine)
        expect(new Set(states)).toEqual(new Set(["inFlight", "congested"]))
        const waiting = yield* waitingOf(engine, "t-599")
        expect(waiting?.detail).toStartWith(
          "The namespace has more due timers than this node keeps in memory.",
        )
        yield* hanging.endAll()
        for (let second = 0; second < 10; second++) yield* engine.advance(1_000)
        expect(yield* listed(engine)).toEqual([])
      }),
  )
})

engineTest("a stopping node gives no reason of its own", { dispatch: { inFlightPerHost: 1 } }, (engine) =>
  Effect.gen(function* () {
    engine.hang()
    for (let index = 0; index < 2; index++) yield* engine.create({ timerId: `t-${index}` })
    yield* engine.advance(1_000)
    expect(yield* waitingOf(engine, "t-1")).toBeDefined()
    yield* Effect.forkChild(engine.node.engine.drain(60_000))
    yield* engine.still
    expect(yield* waitingOf(engine, "t-1")).toBeUndefined()
  }),
)

const shards = 4

engineTest(
  "another node that owns the timer is asked, for a list as well; one that cannot be reached gives no reason",
  { isEmpty: true, areLinked: true, shards },
  (engine) =>
    Effect.gen(function* () {
      const one = yield* engine.startNode("one")
      const two = yield* engine.startNode("two")
      yield* engine.advance(60_000)
      const ownerOf = (timerId: string) =>
        engine.database.shards[shardOf(keyOf("shop", timerId).uuid, shards)]?.node
      const ids = Array.from({ length: 40 }, (_, index) => `t-${index}`)
      const far = ids.filter((timerId) => ownerOf(timerId) === "two")
      const near = ids.filter((timerId) => ownerOf(timerId) === "one")
      expect(far.length).toBeGreaterThan(0)
      expect(near.length).toBeGreaterThan(0)
      engine.absent.add("shop")
      for (const timerId of ids) yield* one.scheduler.create(engine.command({ timerId, ...handler }))
      yield* engine.advance(1_000)
      for (const node of [one, two]) {
        for (const timerId of [far[0] ?? "", near[0] ?? ""]) {
          expect(yield* waitingOf(engine, timerId, node)).toEqual({
            ...{ reason: "noSubscriber", sinceMs: 60_000, detail: "There is no handler." },
          })
        }
        expect(yield* listed(engine, node)).toEqual(ids.map(() => "noSubscriber"))
      }
      engine.unreachable.add("two")
      expect(yield* waitingOf(engine, far[0] ?? "", one)).toBeUndefined()
      expect((yield* listed(engine, one)).filter((state) => state === "pending").length).toBe(far.length)
    }),
)
