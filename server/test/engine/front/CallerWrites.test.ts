// Many writes of one caller leave the thread to others in between, and none begins after its caller has an answer.
import { expect, test } from "bun:test"
import { nextTurn } from "@punctual/api/nextTurn"
import { Clock, Effect, Fiber } from "effect"
import { CallerWrites, type CallerWritesParts } from "../../../src/engine/front/CallerWrites.ts"
import type { CarriedItem } from "../../../src/ports/Peers.ts"
import { putOf, sampleTimer } from "../../../testkit/timers.ts"
import { turnsDuring } from "../../../testkit/turnsDuring.ts"

const notBegun = "the service had no time to begin the write"

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

test("no further write of a call begins after its caller was interrupted", async () => {
  const { begun, writes } = recording()
  const interrupted = Effect.gen(function* () {
    const call = yield* Effect.forkChild(writes.answersOf(numbers, longWrite), { startImmediately: true })
    yield* Fiber.interrupt(call)
  })
  await Effect.runPromise(interrupted)
  const begunByThen = begun.length
  expect(begunByThen).toBeLessThan(numbers.length)
  await Effect.runPromise(writes.answersOf(["later"], () => putOf(sampleTimer({ timerId: "later" }))))
  await nextTurn()
  expect(begun.slice(begunByThen)).toEqual(["later"])
})

test("a caller whose time is over learns which of its writes did not begin, and they never begin", async () => {
  const { clock, runFork, end } = endingTime()
  const { begun, writes } = recording({
    clock,
    runFork,
    forwarder: { holds: () => false, carry: () => {} },
  })
  const answered = Effect.map(writes.answersOf(numbers, longWrite), (answers) => ({
    begun: begun.length,
    answers,
  }))
  const answer = Effect.runPromise(answered)
  end()
  const { begun: begunByThen, answers } = await answer
  expect(begunByThen).toBeLessThan(numbers.length)
  expect(answers.map((told) => ("_tag" in told ? told : told.result))).toEqual([
    ...numbers.slice(0, begunByThen).map(() => "created"),
    ...numbers.slice(begunByThen).map(() => expect.objectContaining({ _tag: "NoOwner", message: notBegun })),
  ])
  expect(answers.filter((told) => "mayBeDone" in told)).toEqual([])
  await nextTurn()
  await nextTurn()
  expect(begun.length).toBe(begunByThen)
})

test("a write that began and has no answer in time may be done", async () => {
  const { clock, runFork, end } = endingTime()
  const { writes } = recording({
    clock,
    runFork,
    own: { begin: () => {} },
    forwarder: { holds: () => false, carry: () => {} },
  })
  const answer = Effect.runPromise(writes.answersOf([1], longWrite))
  end()
  expect(await answer).toEqual([expect.objectContaining({ _tag: "NoOwner", mayBeDone: true })])
})
