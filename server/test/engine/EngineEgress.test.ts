// Timers whose address the egress rules refuse when they are due: they wait without attempts, and delay nobody.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import type { WebhookTarget } from "../../src/domain/Timer.ts"
import { shardOf } from "../../src/domain/TimerKey.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import { delivered, type EngineHarness, engineTest } from "../../testkit/EngineHarness.ts"
import { putOf, sampleSpec, sampleTimer } from "../../testkit/timers.ts"

const bounds = { window: { timers: 400, page: 40 }, shards: 2 }
const urlOf = (host: string): WebhookTarget => ({
  ...{ type: "webhook", method: "POST", timeoutMs: 15_000, body: "envelope" },
  url: `http://${host}/`,
})
const refusal: Delivery = { kind: "egressRefused", detail: "TIMER_EGRESS does not allow 10.0.0.1 (sly)" }
const isSly = ({ target }: Fire) => "url" in target && new URL(target.url).host.startsWith("sly")

/** The rules refuse hosts that begin with `sly`, until the test allows them. */
const rules = (engine: EngineHarness) => {
  const state = { isAllowed: false }
  engine.onFire((fire) => Effect.succeed(isSly(fire) && !state.isAllowed ? refusal : delivered))
  return state
}

const minutes = Effect.fnUntraced(function* (engine: EngineHarness, count: number) {
  for (let passed = 0; passed < count; passed += 0.5) yield* engine.advance(30_000)
})

const judgements = (engine: EngineHarness) => engine.fires.filter(isSly).length

describe("a timer that the rules refuse", () => {
  engineTest(
    "waits without an attempt, is judged again every 5 minutes, and fires when allowed",
    {},
    (engine) =>
      Effect.gen(function* () {
        const state = rules(engine)
        yield* engine.create({ timerId: "a", target: urlOf("sly") })
        const before = engine.stored("a").pending
        yield* minutes(engine, 4)
        expect(judgements(engine)).toBe(1)
        expect(engine.stored("a").pending).toEqual(before)
        const view = yield* engine.node.scheduler.get("shop", "a")
        expect(JSON.stringify(view)).toContain('"reason":"egressRefused"')
        expect(JSON.stringify(view)).toContain("TIMER_EGRESS does not allow 10.0.0.1")
        yield* minutes(engine, 7)
        expect(judgements(engine)).toBe(3)
        expect(engine.stored("a").pending?.attempts).toBe(0)
        state.isAllowed = true
        yield* minutes(engine, 5)
        expect(engine.stored("a").pending).toBeUndefined()
        expect(engine.firesOf("a").at(-1)?.attempt).toBe(1)
      }),
  )

  engineTest("is judged at once after a start", { isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      const state = rules(engine)
      const node = yield* engine.startNode("node-1")
      yield* node.scheduler.create(engine.command({ timerId: "a", target: urlOf("sly") }))
      yield* engine.advance(1_000)
      expect(judgements(engine)).toBe(1)
      yield* node.kill
      state.isAllowed = true
      yield* engine.startNode("node-2")
      yield* engine.advance(10_000)
      expect(engine.stored("a").pending).toBeUndefined()
    }),
  )

  engineTest("opens no breaker, and counts in the metrics", {}, (engine) =>
    Effect.gen(function* () {
      rules(engine)
      for (let index = 0; index < 20; index++) {
        yield* engine.create({ timerId: `t-${index}`, target: urlOf(`sly${index % 2}`) })
      }
      yield* engine.advance(1_000)
      expect(engine.node.engine.breakers(10)).toEqual([])
      yield* engine.node.engine.sample
      expect(yield* engine.metric("timer_egress_refused_hosts")).toBe(2)
      expect(yield* engine.metric("timer_egress_refused_timers")).toBe(20)
      expect(engine.logs.filter((line) => line.includes("TIMER_EGRESS")).length).toBe(2)
      yield* engine.cancel("t-3")
      yield* engine.node.engine.sample
      expect(yield* engine.metric("timer_egress_refused_timers")).toBe(19)
    }),
  )

  engineTest("ends only by its expireAfter, without an attempt", {}, (engine) =>
    Effect.gen(function* () {
      rules(engine)
      yield* engine.create({ timerId: "a", target: urlOf("sly"), spec: { expireAfterMs: 90_000 } })
      yield* engine.create({ timerId: "b", target: urlOf("sly") })
      yield* minutes(engine, 1)
      expect(engine.stored("a").pending).toBeDefined()
      yield* minutes(engine, 1)
      expect(engine.stored("a")).toMatchObject({ last: { state: "dead", reason: "expired", attempts: 0 } })
      expect(judgements(engine)).toBe(1)
      yield* minutes(engine, 60)
      expect(engine.stored("b").pending?.attempts).toBe(0)
    }),
  )

  engineTest("can be cancelled and changed while it waits", {}, (engine) =>
    Effect.gen(function* () {
      rules(engine)
      yield* engine.create({ timerId: "a", target: urlOf("sly") })
      yield* engine.create({ timerId: "b", target: urlOf("sly") })
      yield* engine.advance(1_000)
      expect(yield* engine.cancel("a")).toMatchObject({ result: "cancelled" })
      yield* engine.create({ timerId: "b", target: urlOf("fine") })
      yield* engine.advance(1_000)
      // The host of b was already judged for a, so the first attempt of b goes to the new host.
      expect(engine.firesOf("b").map(isSly)).toEqual([false])
      expect(engine.stored("b").pending).toBeUndefined()
      yield* minutes(engine, 6)
      expect(engine.firesOf("a").length).toBe(1)
    }),
  )
})

describe("other parts of the engine", () => {
  engineTest("the call of onDead waits too, and is made once when its address is allowed", {}, (engine) =>
    Effect.gen(function* () {
      const state = { isAllowed: false }
      engine.onFire((fire) => {
        if (fire.death === undefined) {
          return Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "never", status: 410 })
        }
        return Effect.succeed(state.isAllowed ? delivered : refusal)
      })
      yield* engine.create({ timerId: "a", target: urlOf("fine"), spec: { onDead: urlOf("sly") } })
      yield* minutes(engine, 6)
      expect(engine.stored("a")).toMatchObject({ last: { state: "dead", reason: "refused" } })
      const notices = () => engine.fires.filter(({ death }) => death !== undefined)
      expect(notices().map(({ attempt }) => attempt)).toEqual([1, 1])
      state.isAllowed = true
      yield* minutes(engine, 11)
      expect(notices().map(({ attempt }) => attempt)).toEqual([1, 1, 1])
      const [notice] = notices()
      expect(engine.stored(notice?.timerId ?? "")).toMatchObject({
        last: { state: "delivered", attempts: 1 },
      })
    }),
  )

  engineTest("a manual clock moves past timers that wait", { isManual: true }, (engine) =>
    Effect.gen(function* () {
      rules(engine)
      yield* engine.create({ timerId: "a", inMs: 3_600_000, target: urlOf("sly") })
      yield* engine.create({ timerId: "b", inMs: 7_200_000, target: urlOf("fine") })
      const { clock } = engine.node.engine
      if (clock === undefined) throw new Error("the clock is not manual")
      const moved = yield* Effect.forkChild(clock.advance({ to: { byMs: 86_400_000 }, maxFirings: 100 }))
      yield* engine.advance(1_000)
      expect(yield* Fiber.join(moved)).toMatchObject({ isUnfinished: false })
      expect(engine.stored("b").pending).toBeUndefined()
      expect(engine.stored("a").pending?.attempts).toBe(0)
    }),
  )
})

describe("many refused timers", () => {
  /** Rows of an earlier run of the service: a host that is refused, and among them some of another host. */
  const leave = (
    engine: EngineHarness,
    namespace: string,
    count: number,
    hostOf: (index: number) => string,
  ) => {
    for (let index = 0; index < count; index++) {
      const timer = sampleTimer({
        namespace,
        timerId: `${namespace}-${index}`,
        executeAt: engine.now() - count + index,
        spec: { ...sampleSpec, target: urlOf(hostOf(index)) },
      })
      applyTo(engine.database, shardOf(timer.uuid, bounds.shards), putOf(timer))
    }
  }

  engineTest(
    "cause one judgement of their host each 5 minutes, and no timer of others or of other hosts waits for them",
    { ...bounds, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const state = rules(engine)
        const count = 800
        leave(engine, "large", count, (index) => (index % 10 === 9 ? "fine" : "sly"))
        yield* engine.startNode("node-1")
        const start = engine.now()
        for (let index = 0; index < 20; index++) {
          const executeAt = start + 500 + index * 137
          yield* engine.create({
            namespace: "small",
            timerId: `live-${index}`,
            executeAt,
            target: urlOf("fine"),
          })
          yield* engine.create({
            ...{ namespace: "large", timerId: `other-${index}`, executeAt: executeAt + 10_000 },
            target: urlOf("fine"),
          })
        }
        yield* minutes(engine, 1)
        for (const fire of engine.fires.filter(({ timerId }) => /^(live|other)-/.test(timerId))) {
          expect([fire.timerId, fire.at - fire.executeAt]).toEqual([fire.timerId, 0])
        }
        expect(engine.fires.filter((fire) => !isSly(fire)).length).toBe(40 + count / 10)
        yield* engine.node.engine.sample
        expect(yield* engine.metric("timer_window_timers")).toBeLessThanOrEqual(bounds.window.timers)
        expect(yield* engine.metric("timer_egress_refused_timers")).toBe(count - count / 10)
        // The first attempts start before the first judgement is known.
        const first = judgements(engine)
        expect(first).toBeLessThanOrEqual(64)
        yield* minutes(engine, 11)
        expect(judgements(engine) - first).toBeLessThanOrEqual(3)
        expect(judgements(engine) - first).toBeGreaterThanOrEqual(2)
        const waiting = yield* engine.node.scheduler.get("large", "large-0")
        expect(JSON.stringify(waiting)).toContain('"reason":"egressRefused"')
        state.isAllowed = true
        yield* minutes(engine, 12)
        const delivered = new Set(engine.fires.filter(isSly).map(({ timerId }) => timerId))
        expect(delivered.size).toBe(count - count / 10)
        for (let index = 0; index < count; index++) {
          expect(engine.stored(`large-${index}`, "large").pending).toBeUndefined()
        }
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("of many namespaces stay within the bounds of memory", { ...bounds, isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      rules(engine)
      for (let tenant = 0; tenant < 60; tenant++) leave(engine, `t${tenant}`, 30, () => `sly${tenant % 7}`)
      yield* engine.startNode("node-1")
      yield* minutes(engine, 1)
      yield* engine.create({ namespace: "small", timerId: "live", inMs: 500, target: urlOf("fine") })
      yield* engine.advance(500)
      expect(engine.firesOf("live")[0]?.at).toBe(engine.now())
      yield* engine.node.engine.sample
      expect(yield* engine.metric("timer_window_timers")).toBeLessThanOrEqual(bounds.window.timers)
      expect(yield* engine.metric("timer_egress_refused_timers")).toBe(1_800)
    }),
  )
})
