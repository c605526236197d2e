import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Latch } from "effect"
import { BusError, MessageFailed, MessageRefused } from "../src/Bus.ts"
import { sampleMessage, sampleNow } from "../testkit/BusFixture.ts"
import { intakeTest, runIntake, ToldDelivery } from "../testkit/IntakeRig.ts"

const failing = Effect.fail(new MessageFailed({ message: "not yet" }))

describe("what the broker is told", () => {
  intakeTest(
    "a failure asks for the message again after 1, 5, 25 and 25 s; after the fifth it is undeliverable",
    { handle: () => failing },
    ({ take }) =>
      Effect.sync(() => {
        const deliveries = [1, 2, 3, 4, 5].map((delivery) => take("a", delivery))
        expect(deliveries.map(({ answers }) => answers)).toEqual([
          ["again in 1000 ms"],
          ["again in 5000 ms"],
          ["again in 25000 ms"],
          ["again in 25000 ms"],
          ["acknowledged"],
        ])
        expect(deliveries.map(({ setAsides }) => setAsides.length)).toEqual([0, 0, 0, 0, 1])
      }),
  )

  intakeTest(
    "a delivery past the fifth is undeliverable, and the handler is not called",
    {},
    ({ take, listener }) =>
      Effect.sync(() => {
        const { answers, setAsides } = take("a", 6)
        expect(listener.asked).toEqual([])
        expect(answers).toEqual(["acknowledged"])
        expect(setAsides).toMatchObject([
          { tenant: "acme", facts: { reason: "deliveriesExhausted", deliveries: 6 } },
        ])
        expect(setAsides[0]?.facts.firstFailure).toMatchObject({ at: sampleNow })
        expect(listener.observed.map(({ event }) => event)).toEqual(["redelivered", "undeliverable"])
      }),
  )

  intakeTest(
    "an undeliverable message names its first and its last failure",
    { handle: ({ delivery }) => Effect.fail(new MessageFailed({ message: `failure ${delivery}` })) },
    ({ intake, advance }) =>
      Effect.gen(function* () {
        const message = sampleMessage()
        let last = new ToldDelivery(message)
        for (let delivery = 1; delivery <= 5; delivery++) {
          last = new ToldDelivery(message, delivery)
          intake.take(last)
          yield* advance(1_000)
        }
        expect(last.setAsides).toMatchObject([
          {
            facts: {
              deliveries: 5,
              firstFailure: { at: sampleNow, error: "failure 1" },
              lastFailure: { at: sampleNow + 4_000, error: "failure 5" },
            },
          },
        ])
      }),
  )

  const cannotStore = Effect.fail(new BusError({ message: "the broker is full" }))
  for (const [how, storing] of [
    ["fails", cannotStore],
    ["never ends", Effect.never],
    ["breaks", Effect.die("a bug")],
  ] as const) {
    intakeTest(
      `a setAside that ${how} leaves the message with the broker, for another try`,
      { handle: () => Effect.fail(new MessageRefused({ message: "it makes no sense" })) },
      ({ intake, advance, logs, listener }) =>
        Effect.gen(function* () {
          const message = sampleMessage()
          const first = new ToldDelivery(message)
          first.storing = storing
          intake.take(first)
          yield* advance(24_000)
          expect(first.answers).toEqual(["again in 25000 ms"])
          expect(logs.filter((line) => line.includes("could not be stored"))).toHaveLength(1)
          expect(listener.events("undeliverable")).toBe(0)
          const second = new ToldDelivery(message, 2)
          intake.take(second)
          expect(second.answers).toEqual(["acknowledged"])
          expect(second.setAsides).toMatchObject([{ facts: { firstFailure: { at: sampleNow } } }])
        }),
    )
  }

  intakeTest(
    "a handler has four fifths of the ack wait; then it is interrupted, and has failed",
    { handle: () => Effect.never, closeWithinMs: 0 },
    ({ take, advance, intake, listener }) =>
      Effect.gen(function* () {
        const [first, second] = [take("a"), take("a")]
        yield* advance(23_999)
        expect(first.answers).toEqual([])
        yield* advance(1)
        expect(first.answers).toEqual(["again in 1000 ms"])
        expect(second.answers).toEqual([])
        expect(listener.asked.length).toBe(2)
        expect(intake.room()).toBe(999)
      }),
  )

  intakeTest(
    "the broker is asked to wait for every held message, three times per ack wait, and for no other",
    { handle: () => Effect.never, closeWithinMs: 0 },
    ({ take, advance }) =>
      Effect.gen(function* () {
        const [atWork, waiting] = [take("a"), take("a")]
        yield* advance(10_000)
        expect([atWork.keptWaiting, waiting.keptWaiting]).toEqual([1, 1])
        yield* advance(10_000)
        expect([atWork.keptWaiting, waiting.keptWaiting]).toEqual([2, 2])
        // After 24 s the first handler has failed, and the second one is running.
        yield* advance(10_000)
        expect([atWork.keptWaiting, waiting.keptWaiting]).toEqual([2, 3])
      }),
  )

  intakeTest(
    "a broker that cannot be reached does not stop the messages behind",
    {},
    ({ intake, take, logs }) =>
      Effect.sync(() => {
        const broken = new ToldDelivery(sampleMessage({ key: "a" }))
        broken.acknowledge = () => {
          throw new Error("the connection is closed")
        }
        intake.take(broken)
        expect(take("a").answers).toEqual(["acknowledged"])
        expect(intake.room()).toBe(1_000)
        expect(logs).toHaveLength(1)
      }),
  )

  intakeTest("messages of other types are acknowledged and not held", {}, ({ intake, listener }) =>
    Effect.sync(() => {
      const other = new ToldDelivery(sampleMessage({ type: "SomethingElse" }), 9)
      intake.take(other)
      expect(other.answers).toEqual(["acknowledged"])
      expect(listener.observed).toEqual([{ event: "otherType", tenant: "acme", type: "SomethingElse" }])
    }),
  )

  intakeTest("messages that have no key do not wait for each other", { closeWithinMs: 0 }, ({ intake }) =>
    Effect.sync(() => {
      const [slow, quick] = ["[]", "nonsense"].map((text) => new ToldDelivery(new TextEncoder().encode(text)))
      if (slow === undefined || quick === undefined) throw new Error("two messages were made")
      slow.storing = Effect.never
      intake.take(slow)
      intake.take(quick)
      expect([slow.answers, quick.answers]).toEqual([[], ["acknowledged"]])
    }),
  )

  intakeTest(
    "bytes that are not an envelope are undeliverable, for the tenant in the address",
    {},
    ({ intake, listener }) =>
      Effect.sync(() => {
        const malformed = new ToldDelivery(new TextEncoder().encode("nonsense"), 2, "globex")
        intake.take(malformed)
        expect(malformed.answers).toEqual(["acknowledged"])
        expect(malformed.setAsides).toMatchObject([
          { tenant: "globex", facts: { reason: "malformed", deliveries: 2 } },
        ])
        expect(listener.asked).toEqual([])
      }),
  )
})

describe("room", () => {
  intakeTest(
    "is the limit minus what is held, and callers can wait for it",
    { heldAtMost: 3, handle: () => gate.await },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        gate.closeUnsafe()
        expect(intake.room()).toBe(3)
        for (const key of ["a", "b", "c"]) take(key)
        expect(intake.room()).toBe(0)
        const [one, all, more] = yield* Effect.all(
          [1, 3, 1_000].map((count) => Effect.forkScoped(intake.awaitRoom(count))),
        )
        yield* advance(1)
        expect([one, all, more].map((fiber) => fiber?.pollUnsafe())).toEqual([
          undefined,
          undefined,
          undefined,
        ])
        gate.openUnsafe()
        yield* advance(1)
        expect(intake.room()).toBe(3)
        // A request for more room than can ever exist resolves when the intake is empty.
        for (const fiber of [one, all, more]) expect(fiber?.pollUnsafe()).toBeDefined()
      }),
  )

  intakeTest("is 0 while too many bytes are held", { handle: () => gate.await }, ({ intake, advance }) =>
    Effect.gen(function* () {
      gate.closeUnsafe()
      const payloadJson = JSON.stringify("x".repeat(33 * 1_024 * 1_024))
      intake.take(new ToldDelivery({ ...sampleMessage({ key: "a" }), payloadJson }))
      expect(intake.room()).toBe(999)
      intake.take(new ToldDelivery({ ...sampleMessage({ key: "b" }), payloadJson }))
      expect(intake.room()).toBe(0)
      const room = yield* Effect.forkScoped(intake.awaitRoom(1))
      yield* advance(1)
      expect(room.pollUnsafe()).toBeUndefined()
      gate.openUnsafe()
      yield* advance(1)
      expect(intake.room()).toBe(1_000)
      expect(room.pollUnsafe()).toBeDefined()
    }),
  )

  intakeTest(
    "the number of running handlers is bounded, and the keys take turns",
    { handlersAtMost: 2, handle: () => Effect.sleep(10) },
    ({ take, listener, advance }) =>
      Effect.gen(function* () {
        for (const key of ["a", "a", "a", "b", "c", "c"]) take(key)
        yield* advance(0)
        expect(listener.asked.length).toBe(2)
        yield* advance(10)
        expect(listener.asked.length).toBe(4)
        yield* advance(20)
        expect(listener.asked.map(({ envelope }): string => envelope.aggregateId)).toEqual([
          "a",
          "b",
          "c",
          "a",
          "c",
          "a",
        ])
      }),
  )

  const gate = Latch.makeUnsafe(false)
})

describe("closing", () => {
  const gate = Latch.makeUnsafe(false)

  intakeTest(
    "gives waiting messages back, lets handlers finish, and only then gives back the messages behind them",
    { handlersAtMost: 1, handle: () => gate.await },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        gate.closeUnsafe()
        const [atWork, behind, elsewhere] = [take("a"), take("a"), take("b")]
        const closing = yield* Effect.forkScoped(intake.close)
        yield* advance(4_000)
        expect(intake.room()).toBe(0)
        expect([atWork, behind, elsewhere].map(({ answers }) => answers)).toEqual([[], [], ["again in 0 ms"]])
        const late = take("c")
        expect(late.answers).toEqual(["again in 0 ms"])
        gate.openUnsafe()
        yield* Fiber.join(closing)
        yield* intake.close
        expect([atWork, behind].map(({ answers }) => answers)).toEqual([["acknowledged"], ["again in 0 ms"]])
      }),
  )

  intakeTest(
    "interrupts handlers that do not finish, and their messages did not fail",
    { handle: () => Effect.never },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        const told = [take("a"), take("b", 5), take("a")]
        const closing = yield* Effect.forkScoped(intake.close)
        yield* advance(4_999)
        expect(closing.pollUnsafe()).toBeUndefined()
        yield* advance(1)
        expect(closing.pollUnsafe()).toBeDefined()
        expect(told.map(({ answers }) => answers)).toEqual([
          ["again in 0 ms"],
          ["again in 0 ms"],
          ["again in 0 ms"],
        ])
        expect(told.flatMap(({ setAsides }) => setAsides)).toEqual([])
      }),
  )

  intakeTest(
    "interrupts a setAside, and the message is delivered again at once",
    { handle: () => failing, closeWithinMs: 0 },
    ({ intake }) =>
      Effect.gen(function* () {
        const told = new ToldDelivery(sampleMessage(), 5)
        told.storing = Effect.never
        intake.take(told)
        yield* intake.close
        expect(told.answers).toEqual(["again in 0 ms"])
      }),
  )

  intakeTest(
    "waits a bounded time for a handler that cannot be interrupted, and answers once",
    { handle: () => Effect.uninterruptible(gate.await) },
    ({ intake, take, advance }) =>
      Effect.gen(function* () {
        gate.closeUnsafe()
        const told = take("a")
        const closing = yield* Effect.forkScoped(intake.close)
        yield* advance(5_999)
        expect(closing.pollUnsafe()).toBeUndefined()
        yield* advance(1)
        expect(closing.pollUnsafe()).toBeDefined()
        gate.openUnsafe()
        yield* advance(1)
        expect(told.answers).toEqual(["again in 0 ms"])
      }),
  )

  test("happens with the scope", async () => {
    const told = new ToldDelivery(sampleMessage())
    await runIntake({ handle: () => Effect.never, closeWithinMs: 0 }, ({ intake }) =>
      Effect.sync(() => intake.take(told)),
    )
    expect(told.answers).toEqual(["again in 0 ms"])
  })
})

describe("a broker that cannot delay", () => {
  const failing = () => Effect.fail(new MessageFailed({ message: "not yet" }))

  intakeTest(
    "is asked to wait while the intake delays the deliveries itself, with the same delays",
    { cannotDelay: true, handle: failing },
    ({ take, advance, listener }) =>
      Effect.gen(function* () {
        const told = take("call-1")
        let count = 1
        for (const delayMs of [1_000, 5_000, 25_000, 25_000]) {
          yield* advance(delayMs - 1)
          expect(listener.deliveries.length).toBe(count)
          yield* advance(1)
          expect(listener.deliveries.length).toBe(++count)
        }
        expect(listener.deliveries).toEqual([1, 2, 3, 4, 5])
        expect(told.answers).toEqual(["acknowledged"])
        expect(told.setAsides).toMatchObject([{ facts: { reason: "deliveriesExhausted", deliveries: 5 } }])
        expect(told.keptWaiting).toBeGreaterThan(0)
        expect(listener.events("redelivered")).toBe(4)
      }),
  )

  intakeTest(
    "lets the messages behind a failed one of the same key pass, and counts it among those held",
    {
      cannotDelay: true,
      heldAtMost: 2,
      handle: ({ delivery }) => (delivery === 1 ? failing() : Effect.void),
    },
    ({ take, advance, listener, intake }) =>
      Effect.gen(function* () {
        const [first, second] = [take("call-1"), take("call-1")]
        yield* advance(0)
        expect(listener.deliveries).toEqual([1, 1])
        expect(intake.room()).toBe(0)
        yield* advance(1_000)
        expect(listener.deliveries).toEqual([1, 1, 2, 2])
        expect([first.answers, second.answers]).toEqual([["acknowledged"], ["acknowledged"]])
        expect(intake.room()).toBe(2)
      }),
  )

  intakeTest(
    "gets all held messages back when the intake closes, and nothing is delivered after that",
    { cannotDelay: true, handle: failing },
    ({ take, advance, listener, intake }) =>
      Effect.gen(function* () {
        const told = take("call-1")
        yield* advance(0)
        yield* intake.close
        expect(told.answers).toEqual(["again in 0 ms"])
        yield* advance(60_000)
        expect(listener.deliveries).toEqual([1])
      }),
  )
})

describe("a message that is sent to one group again", () => {
  intakeTest(
    "is acknowledged by every other group, without handling or counting it",
    {},
    ({ intake, listener, advance }) =>
      Effect.gen(function* () {
        const other = Object.assign(new ToldDelivery(sampleMessage()), { onlyGroup: "another" })
        const own = Object.assign(new ToldDelivery(sampleMessage()), {
          onlyGroup: listener.subscription.group,
        })
        intake.take(other)
        intake.take(own)
        yield* advance(0)
        expect(other.answers).toEqual(["acknowledged"])
        expect(listener.asked.length).toBe(1)
        expect(listener.observed.map(({ event }) => event)).toEqual(["received", "processed"])
      }),
  )
})
