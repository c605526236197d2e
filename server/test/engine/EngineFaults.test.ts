// A store that fails in every possible way, under random work. Acknowledged timers are delivered, cancelled timers are
// not, no attempt is made twice, and the number of armings balances.
import { expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import fc from "fast-check"
import { delivered, type EngineHarness, refused, runVirtually } from "../../testkit/EngineHarness.ts"
import { runsOf, timeLimitMsOf } from "../../testkit/effort.ts"
import type { Gate, StoreMethod } from "../../testkit/StoreFaults.ts"
import { sampleSpec } from "../../testkit/timers.ts"

interface Step {
  readonly op: "create" | "cancel" | "wait" | "fail" | "failReply" | "holdCall" | "holdReply" | "release"
  readonly method: StoreMethod
  readonly key: number
  readonly ms: number
}

const steps = fc.array(
  fc.record<Step>({
    op: fc.constantFrom<Step["op"]>(
      "create",
      "create",
      "create",
      "cancel",
      "wait",
      "wait",
      "fail",
      "failReply",
      "holdCall",
      "holdReply",
      "release",
      "release",
    ),
    method: fc.constantFrom<StoreMethod>("write", "write", "due", "dueHeads", "find"),
    key: fc.nat(7),
    ms: fc.nat(3_000),
  }),
  { minLength: 10, maxLength: 60 },
)

/** The attempts of each life are exactly those that were made. None started after its end, and none is missing. */
const expectHistoryTrue = Effect.fnUntraced(function* (engine: EngineHarness) {
  const made = (fireId: string) => engine.fires.filter((fire) => fire.fireId === fireId).length
  for (const state of ["delivered", "cancelled", "dead"] as const) {
    const query = { namespace: "shop", state, reversed: false, includePayload: false, limit: 1_000 }
    for (const view of (yield* engine.node.scheduler.list(query)).timers) {
      if ("life" in view) expect(view.life.attempts).toBe(made(view.life.fireId))
    }
  }
})

/** Retries come soon, so that everything has ended when the test does. */
const spec = { retryPolicy: { ...sampleSpec.retryPolicy, maxIntervalMs: 5_000 } }

const law = (sequence: ReadonlyArray<Step>) => (engine: EngineHarness) =>
  Effect.gen(function* () {
    let fires = 0
    engine.onFire(() => Effect.as(Effect.sleep(fires++ % 40), fires % 4 === 0 ? refused : delivered))
    const gates: Array<Gate> = []
    const callers: Array<Fiber.Fiber<unknown, unknown>> = []
    for (const { op, method, key, ms } of sequence) {
      const timerId = `t${key}`
      const inMs = ms * (key % 2 === 0 ? 1 : 25)
      if (op === "create") callers.push(yield* Effect.forkChild(engine.create({ timerId, inMs, spec })))
      if (op === "cancel") callers.push(yield* Effect.forkChild(engine.cancel(timerId)))
      if (op === "wait") yield* engine.advance(ms)
      if (op === "fail") engine.faults.fail(method, { times: 1 + (key % 2) })
      if (op === "failReply") engine.faults.failReply(method, { times: 1 + (key % 2) })
      if (op === "holdCall") gates.push(engine.faults.holdCall(method))
      if (op === "holdReply") gates.push(engine.faults.holdReply(method))
      if (op === "release") yield* gates.shift()?.release ?? Effect.void
      yield* engine.still
    }
    for (const gate of gates) yield* gate.release
    yield* engine.advance(300_000)
    for (const caller of callers) yield* Fiber.join(caller)
    const attempts = engine.fires.map(({ fireId, attempt }) => `${fireId}/${attempt}`)
    expect(new Set(attempts).size).toBe(attempts.length)
    yield* expectHistoryTrue(engine)
    for (const fire of engine.fires) expect(fire.at).toBeGreaterThanOrEqual(fire.executeAt)
    const { created, delivered: done, cancelled, replaced, dead } = engine.database.tally
    expect(created).toBe(done + cancelled + replaced + dead)
    expect(yield* engine.rescued).toBe(0)
    expect(engine.node.engine.status().stalledLoops).toEqual([])
  })

test(
  "a store that fails in every possible way loses nothing and repeats nothing",
  () =>
    fc.assert(
      fc.asyncProperty(steps, (sequence) =>
        runVirtually({ shards: 2, window: { timers: 10, page: 3 } }, law(sequence)),
      ),
      { numRuns: runsOf(80) },
    ),
  timeLimitMsOf(30_000),
)
