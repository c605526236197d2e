// Many writes of one caller leave the thread to others in between, and each of them begins.
import { expect, test } from "bun:test"
import { Clock, Effect, Fiber } from "effect"
import { CallerWrites, type CallerWritesParts } from "../../../src/engine/front/CallerWrites.ts"
import type { CarriedItem } from "../../../src/ports/Peers.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { putOf, sampleTimer } from "../../../testkit/timers.ts"
import { turnsDuring } from "../../../testkit/turnsDuring.ts"

const numbers = Array.from({ length: 64 }, (_, index) => index)

const systemClock = Effect.runSync(Clock.clockWith(Effect.succeed))

/** Answers every write at once, and remembers it. */
const recording = (parts: Partial<CallerWritesParts> = {}) => {
  const begun: Array<string> = []
  const writes = new CallerWrites({
    own: {
      begin: (item, onAnswer) => {
        if (item.kind !== "put") throw new Error("not a create")
        begun.push(item.timer.timerId)
        onAnswer({ result: "created", timer: item.timer })
      },
    },
    forwarder: undefined,
    isDraining: () => false,
    clock: systemClock,
    runFork: Effect.runFork,
    ...parts,
  })
  return { begun, writes }
}

/** A clock on which every time limit ends when the test says so. */
const endingTime = () => {
  const limits: Array<Effect.Effect<void>> = []
  let nowNanos = 0n
  const clock: Clock.Clock = Object.assign(Object.create(systemClock), {
    monotonicTimeNanosUnsafe: () => nowNanos,
    sleep: () => Effect.void,
  })
  return {
    clock,
    runFork: (limit: Effect.Effect<void>) => limits.push(limit),
    end: () => {
      nowNanos = 60_000_000_000n
      for (const limit of limits) Effect.runSync(Effect.provideService(limit, Clock.Clock, clock))
    },
  }
}

/** A write that takes a millisecond of the thread to make. */
const longWrite = (number: number): CarriedItem => {
  const startedAt = performance.now()
  while (performance.now() - startedAt < 1);
  return putOf(sampleTimer({ timerId: `t-${number}` }))
}

test("many writes that take long let others run in between, and are answered in order", async () => {
  const { begun, writes } = recording()
  const answered = Effect.map(writes.answersOf(numbers, longWrite), (answers) =>
    answers.map((answer) => ("timer" in answer ? answer.timer.timerId : "none")),
  )
  const checked = Effect.map(answered, (ids) => expect(ids).toEqual(numbers.map((number) => `t-${number}`)))
  // The clock is read before every eighth write.
  expect(await Effect.runPromise(turnsDuring(checked))).toBeGreaterThanOrEqual(7)
  expect(begun.length).toBe(numbers.length)
})

test("all writes of a call begin, although its caller is interrupted", async () => {
  const { begun, writes } = recording()
  const interrupted = Effect.gen(function* () {
    const call = yield* Effect.forkChild(writes.answersOf(numbers, longWrite), { startImmediately: true })
    expect(begun.length).toBeLessThan(numbers.length)
    yield* Fiber.interrupt(call)
  })
  await Effect.runPromise(interrupted)
  await eventually("all have begun", () => (begun.length === numbers.length ? true : undefined))
})

test("a caller whose time is over gets its answer, although not all of its writes have begun", async () => {
  const { clock, runFork, end } = endingTime()
  const { begun, writes } = recording({
    clock,
    runFork,
    forwarder: { holds: () => false, carry: () => {} },
  })
  const answered = Effect.map(writes.answersOf(numbers, longWrite), (answers) => ({
    begun: begun.length,
    told: answers.map((answer) => ("result" in answer ? answer.result : answer._tag)),
  }))
  const answer = Effect.runPromise(answered)
  end()
  const { begun: begunByThen, told } = await answer
  expect(begunByThen).toBeLessThan(numbers.length)
  expect(told.at(0)).toBe("created")
  expect(told.at(-1)).toBe("NoOwner")
})
