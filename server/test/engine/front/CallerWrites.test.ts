// Many writes of one caller leave the thread to others in between, and each of them begins.
import { expect, test } from "bun:test"
import { Clock, Effect, Fiber } from "effect"
import { CallerWrites } from "../../../src/engine/front/CallerWrites.ts"
import type { CarriedItem } from "../../../src/ports/Peers.ts"
import { putOf, sampleTimer } from "../../../testkit/timers.ts"
import { turnsDuring } from "../../../testkit/turnsDuring.ts"

const numbers = Array.from({ length: 64 }, (_, index) => index)

/** Answers every write at once, and remembers it. */
const recording = () => {
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
    clock: Effect.runSync(Clock.clockWith(Effect.succeed)),
    runFork: Effect.runFork,
  })
  return { begun, writes }
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
  expect(begun.length).toBe(numbers.length)
})
