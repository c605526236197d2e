import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { HandlerUnavailable, MessageFailed, MessageRefused } from "../src/Bus.ts"
import { intakeTest } from "../testkit/IntakeRig.ts"

const failing = Effect.fail(new MessageFailed({ message: "not yet" }))
const unavailable = (retryAfterMs: number) =>
  Effect.fail(new HandlerUnavailable({ message: "the store is away", retryAfterMs }))

describe("a handler that cannot work", () => {
  let isAvailable = false
  let retryAfterMs = 1_000
  const handle = () => Effect.suspend(() => (isAvailable ? Effect.void : unavailable(retryAfterMs)))
  const reset = (afterMs: number) => {
    isAvailable = false
    retryAfterMs = afterMs
  }

  intakeTest(
    "pauses the intake: one message asks for all, nothing else starts, nothing is redelivered",
    { handle },
    ({ intake, take, advance, listener, logs }) =>
      Effect.gen(function* () {
        reset(1_000)
        const told = ["a", "a", "b"].map((key) => take(key))
        expect(intake.room()).toBe(0)
        const room = yield* Effect.forkScoped(intake.awaitRoom(1))
        yield* advance(2_500)
        expect(listener.asked.length).toBe(3)
        expect(new Set(listener.askedIds).size).toBe(1)
        // Longer than all deliveries and any handler's time.
        yield* advance(60_000)
        expect(told.map(({ answers }) => answers)).toEqual([[], [], []])
        expect(told.map(({ keptWaiting }) => keptWaiting)).toEqual([6, 6, 6])
        expect(room.pollUnsafe()).toBeUndefined()
        isAvailable = true
        yield* advance(1_000)
        expect(told.map(({ answers }) => answers)).toEqual([
          ["acknowledged"],
          ["acknowledged"],
          ["acknowledged"],
        ])
        expect(new Set(listener.deliveries)).toEqual(new Set([1]))
        expect(room.pollUnsafe()).toBeDefined()
        expect(logs).toEqual([
          "the handler is unavailable, so no messages are handled: the store is away",
          "the handler is available again; handling messages",
        ])
      }),
  )

  for (const [asked, bounded] of [
    [0, 100],
    [-5, 100],
    [Number.NaN, 100],
    [2_000, 2_000],
    [3_600_000, 10_000],
  ] as const) {
    intakeTest(
      `that wants to be asked again in ${asked} ms is asked in ${bounded} ms`,
      { handle },
      ({ take, advance, listener }) =>
        Effect.gen(function* () {
          reset(asked)
          take("a")
          yield* advance(bounded - 1)
          expect(listener.asked.length).toBe(1)
          yield* advance(1)
          expect(listener.asked.length).toBe(2)
        }),
    )
  }

  intakeTest(
    "other running messages keep their place, and are handled again when the pause ends",
    {
      handle: ({ envelope }) =>
        Effect.andThen(
          envelope.aggregateId === "b" ? Effect.sleep(50) : Effect.void,
          Effect.suspend(() => handle()),
        ),
    },
    ({ take, advance, listener, logs }) =>
      Effect.gen(function* () {
        reset(1_000)
        const [first, second] = [take("b"), take("b")]
        const asking = take("a")
        yield* advance(500)
        // This message was being handled when the pause began, and got the same answer.
        expect(listener.askedIds).toEqual([first.messageKey, asking.messageKey])
        isAvailable = true
        yield* advance(500)
        yield* advance(50)
        yield* advance(50)
        expect(listener.askedIds.slice(2)).toEqual([asking.messageKey, first.messageKey, second.messageKey])
        expect([first, second, asking].map(({ answers }) => answers)).toEqual([
          ["acknowledged"],
          ["acknowledged"],
          ["acknowledged"],
        ])
        expect(logs).toHaveLength(2)
      }),
  )

  intakeTest(
    "also ends the pause if it fails in another way",
    { handle: ({ envelope }) => (isAvailable && envelope.aggregateId === "a" ? failing : handle()) },
    ({ take, advance, intake }) =>
      Effect.gen(function* () {
        reset(1_000)
        const [asking, waiting] = [take("a"), take("b")]
        isAvailable = true
        yield* advance(1_000)
        expect(asking.answers).toEqual(["again in 1000 ms"])
        expect(waiting.answers).toEqual(["acknowledged"])
        expect(intake.room()).toBe(1_000)
      }),
  )

  intakeTest(
    "ends the pause as soon as it answers, with any answer",
    {
      handle: ({ envelope }) =>
        isAvailable && envelope.aggregateId === "a"
          ? Effect.fail(new MessageRefused({ message: "it makes no sense" }))
          : Effect.andThen(handle(), Effect.never),
      closeWithinMs: 0,
    },
    ({ intake, take, advance, listener }) =>
      Effect.gen(function* () {
        reset(1_000)
        const [asking, waiting] = [take("a"), take("b")]
        asking.storing = Effect.never
        const room = yield* Effect.forkScoped(intake.awaitRoom(1))
        isAvailable = true
        yield* advance(1_000)
        expect(asking.answers).toEqual([])
        expect(listener.askedIds.at(-1)).toBe(waiting.messageKey)
        expect(room.pollUnsafe()).toBeDefined()
      }),
  )

  intakeTest("does not delay a closing intake", { handle }, ({ intake, take }) =>
    Effect.gen(function* () {
      reset(10_000)
      const told = [take("a"), take("a"), take("b")]
      yield* intake.close
      expect(told.map(({ answers }) => answers)).toEqual([
        ["again in 0 ms"],
        ["again in 0 ms"],
        ["again in 0 ms"],
      ])
    }),
  )
})
