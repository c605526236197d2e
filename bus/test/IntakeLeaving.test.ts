// Messages that leave the intake without an answer of their handler: those of a part of the topic that another member
// takes over, and those behind a message that failed, at a broker whose retries keep the order.
import { describe, expect } from "bun:test"
import { Effect, Fiber, Latch } from "effect"
import { HandlerUnavailable, MessageFailed, MessagePostponed } from "../src/Bus.ts"
import { intakeTest, type ToldDelivery } from "../testkit/IntakeRig.ts"

const isOneOf =
  (...messages: ReadonlyArray<ToldDelivery>) =>
  (incoming: unknown) =>
    messages.some((message) => message === incoming)

describe("giving messages back", () => {
  const gate = Latch.makeUnsafe(false)

  intakeTest(
    "hands back what waits at once, what runs when it has ended, and keeps the rest",
    { handlersAtMost: 2, handle: () => gate.await },
    ({ intake, take, listener, advance }) =>
      Effect.gen(function* () {
        const [running, behind, staying, waiting] = [take("a"), take("a"), take("b"), take("c")]
        yield* advance(0)
        expect(listener.asked.length).toBe(2)
        const leaving = yield* Effect.forkChild(intake.giveBack(isOneOf(running, behind, waiting)), {
          startImmediately: true,
        })
        expect([running, behind, staying, waiting].map(({ answers }) => answers)).toEqual([
          [],
          ["again in 0 ms"],
          [],
          ["again in 0 ms"],
        ])
        gate.openUnsafe()
        yield* advance(0)
        yield* Fiber.join(leaving)
        expect(running.answers).toEqual(["acknowledged"])
        expect(staying.answers).toEqual(["acknowledged"])
        expect(listener.asked.length).toBe(2)
        const later = take("a")
        yield* advance(0)
        expect(later.answers).toEqual(["acknowledged"])
      }),
  )

  intakeTest(
    "interrupts a handler that does not end in time, and handles its key again afterwards",
    { closeWithinMs: 500, handle: ({ delivery }) => (delivery === 1 ? Effect.never : Effect.void) },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        const endless = take("a")
        yield* advance(0)
        const leaving = yield* Effect.forkChild(intake.giveBack(isOneOf(endless)), { startImmediately: true })
        yield* advance(499)
        expect(endless.answers).toEqual([])
        yield* advance(1)
        yield* Fiber.join(leaving)
        expect(endless.answers).toEqual(["again in 0 ms"])
        const again = take("a", 2)
        yield* advance(0)
        expect(again.answers).toEqual(["acknowledged"])
      }),
  )

  let isAvailable = false
  intakeTest(
    "ends the pause if the message that asks for all leaves, and another one asks",
    {
      handle: () =>
        isAvailable
          ? Effect.void
          : Effect.fail(new HandlerUnavailable({ message: "not now", retryAfterMs: 1_000 })),
    },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        const [asking, next] = [take("a"), take("b")]
        yield* advance(0)
        expect(intake.room()).toBe(0)
        isAvailable = true
        yield* intake.giveBack(isOneOf(asking))
        yield* advance(0)
        expect(asking.answers).toEqual(["again in 0 ms"])
        expect(next.answers).toEqual(["acknowledged"])
        expect(intake.room()).toBeGreaterThan(0)
      }),
  )

  let hasRoom = false
  intakeTest(
    "takes a message out of those that wait for their tenant, and the others are still asked",
    {
      handle: () =>
        hasRoom ? Effect.void : Effect.fail(new MessagePostponed({ message: "later", retryAfterMs: 1_000 })),
    },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        const [first, second] = [take("a"), take("b")]
        yield* advance(0)
        yield* intake.giveBack(isOneOf(first))
        expect(first.answers).toEqual(["again in 0 ms"])
        hasRoom = true
        yield* advance(1_000)
        expect(first.answers.length).toBe(1)
        expect(second.answers).toEqual(["acknowledged"])
      }),
  )
})

describe("retries in order", () => {
  const gate = Latch.makeUnsafe(false)
  const failing = Effect.andThen(gate.await, Effect.fail(new MessageFailed({ message: "not yet" })))

  intakeTest(
    "the messages behind one that failed go back after it, and other keys go on",
    {
      retriesInOrder: true,
      handle: ({ envelope }) => (envelope.aggregateId === "a" ? failing : Effect.void),
    },
    ({ take, listener, advance }) =>
      Effect.gen(function* () {
        const [failed, behind, last, other] = [take("a"), take("a"), take("a"), take("b")]
        gate.openUnsafe()
        yield* advance(0)
        expect(failed.answers).toEqual(["again in 1000 ms"])
        expect([behind.answers, last.answers]).toEqual([["again in 0 ms"], ["again in 0 ms"]])
        expect(other.answers).toEqual(["acknowledged"])
        expect(listener.asked.length).toBe(2)
      }),
  )
})
