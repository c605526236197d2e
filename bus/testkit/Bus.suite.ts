// The laws of the Bus port as one suite that every adapter runs. This file tests publishing and handling. It also runs
// the suite for undeliverable messages.
import { describe, expect } from "bun:test"
import { Effect, Exit, Fiber, Latch, Result, Scope } from "effect"
import { type BusError, HandlerUnavailable, MessageFailed, MessageRefused } from "../src/Bus.ts"
import { decodeEnvelope, encodeEnvelope } from "../src/Envelope.ts"
import { MessageMetadata } from "../src/MessageMetadata.ts"
import {
  type BusFixture,
  busLawsOf,
  groups,
  Listener,
  sampleMessage,
  takenType,
  unheardType,
} from "./BusFixture.ts"
import { busGroupsSuite } from "./BusGroups.suite.ts"
import { busKeysSuite } from "./BusKeys.suite.ts"
import { busUndeliverableSuite } from "./BusUndeliverable.suite.ts"

export const busSuite = (name: string, fixture: BusFixture): void => {
  describe(`Bus: ${name}`, () => {
    describe("publishing", () => publishLaws(fixture))
    describe("repeats", () => repeatLaws(fixture))
    busKeysSuite(fixture)
    busGroupsSuite(fixture)
    describe("deliveries", () => deliveryLaws(fixture))
    describe("an unavailable handler", () => unavailableLaws(fixture))
    describe("metadata", () => metadataLaws(fixture))
    describe("closing", () => closingLaws(fixture))
    if (fixture.abilities.listsUndeliverable) busUndeliverableSuite(fixture)
    else describe("undeliverable messages that cannot be listed", () => unlistedLaws(fixture))
  })
}

const failing = Effect.fail(new MessageFailed({ message: "not yet" }))

const publishLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("what is published reaches the handler as it was, and is acknowledged", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage({
        correlationId: "order-1",
        payloadJson: '{"text":"größer ✓","n":[1,2]}',
      })
      const sent = yield* steps.send(message)
      yield* steps.until("the message is handled", () => listener.askedTimes(1))
      expect(yield* Fiber.join(sent)).toEqual([{ isDuplicate: false }])
      const published = Result.getOrThrow(decodeEnvelope(encodeEnvelope(message)))
      expect(listener.asked).toMatchObject([{ envelope: published, delivery: 1 }])
      yield* steps.untilAllAcknowledged
      expect(listener.observed).toEqual([
        { event: "received", tenant: "acme" },
        { event: "processed", tenant: "acme" },
      ])
    }),
  )

  law("a publish of no envelopes is answered with no answers", (steps) =>
    Effect.gen(function* () {
      expect(yield* steps.bus.publish([])).toEqual([])
    }),
  )

  law("messages of other types are acknowledged, observed, and not handled", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      yield* fixture.listenElsewhere(["SomethingElse"])
      yield* steps.send(sampleMessage({ type: "SomethingElse" }), sampleMessage())
      yield* steps.until("the message behind it is handled", () => listener.askedTimes(1))
      yield* steps.untilAllAcknowledged
      expect(listener.asked.map(({ envelope }): string => envelope.type)).toEqual([takenType])
      const told = listener.observed.filter(({ event }) => event === "otherType")
      expect(told).toEqual([{ event: "otherType", tenant: "acme", type: "SomethingElse" }])
      expect(listener.events("received")).toBe(1)
      expect(listener.events("undeliverable")).toBe(0)
    }),
  )

  law("a type that needs no subscriber is published without one, and reaches one that is there", (steps) =>
    Effect.gen(function* () {
      const unheard = sampleMessage({ type: unheardType })
      expect(yield* steps.bus.publish([unheard])).toEqual([{ isDuplicate: false }])
      const listener = new Listener(undefined, [takenType, unheardType])
      yield* steps.bus.subscribe(listener.subscription)
      const heard = sampleMessage({ type: unheardType })
      yield* steps.send(heard, sampleMessage())
      yield* steps.until("the message behind it is handled", () =>
        listener.asked.some(({ envelope }) => String(envelope.type) === takenType) ? true : undefined,
      )
      yield* steps.untilAllAcknowledged
      expect(listener.askedIds).toContain(heard.id)
    }),
  )

  law("a type that the routing table does not have is refused for good", (steps) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(steps.bus.publish([sampleMessage({ type: "Unrouted" })]))
      expect(refused).toMatchObject({ isPermanent: true })
      expect(refused.message).toContain("Unrouted")
    }),
  )
}

const repeatLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  if (!fixture.abilities.dropsRepeats) {
    law("the same envelope again is handed out again, and never called a duplicate", (steps) =>
      Effect.gen(function* () {
        const listener = new Listener()
        yield* steps.bus.subscribe(listener.subscription)
        const message = sampleMessage()
        const sent = [yield* steps.send(message), yield* steps.send(message)]
        yield* steps.until("both are handled", () => listener.askedTimes(2))
        for (const fiber of sent) expect(yield* Fiber.join(fiber)).toEqual([{ isDuplicate: false }])
        expect(listener.askedIds).toEqual([message.id, message.id])
        yield* steps.untilAllAcknowledged
      }),
    )
    return
  }

  law("the same envelope again is a duplicate, and handed out once", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage()
      const last = sampleMessage()
      const first = yield* steps.send(message)
      const again = yield* steps.send(message, last, message)
      yield* steps.until("the last message is handled", () => listener.askedTimes(2))
      expect(yield* Fiber.join(first)).toEqual([{ isDuplicate: false }])
      expect((yield* Fiber.join(again)).map(({ isDuplicate }) => isDuplicate)).toEqual([true, false, true])
      yield* steps.untilAllAcknowledged
      expect(listener.askedIds).toEqual([message.id, last.id])
      // The message was handled long ago, and is still a duplicate.
      expect(yield* steps.bus.publish([message])).toEqual([{ isDuplicate: true }])
    }),
  )
}

const unlistedLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("are still acknowledged, and every call about them says what to use instead", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener(() => Effect.fail(new MessageRefused({ message: "no" })))
      yield* steps.bus.subscribe(listener.subscription)
      expect(steps.bus.abilities.listsUndeliverable).toBe(false)
      yield* steps.send(sampleMessage())
      yield* steps.until("it is undeliverable", () => listener.events("undeliverable") || undefined)
      yield* steps.untilAllAcknowledged
      const { list, find, replay, discard, oldestAt } = steps.kept
      const questions: ReadonlyArray<Effect.Effect<unknown, BusError>> = [
        list("acme", { limit: 1 }),
        find("acme", "1"),
        replay("acme", "1"),
        discard("acme", "1"),
      ]
      for (const question of questions) {
        expect((yield* Effect.flip(question)).message).toContain("cannot list")
      }
      expect(yield* oldestAt).toBeUndefined()
    }),
  )
}

const deliveryLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("a message is not acknowledged before its handler succeeded", (steps) =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const listener = new Listener(() => gate.await)
      yield* steps.bus.subscribe(listener.subscription)
      yield* steps.send(sampleMessage())
      yield* steps.until("the handler runs", () => listener.askedTimes(1))
      yield* steps.until("one message is not acknowledged", () =>
        Effect.map(steps.bus.sample(groups[0]), ({ isConnected, lag }) =>
          isConnected && lag === 1 ? true : undefined,
        ),
      )
      expect(listener.events("processed")).toBe(0)
      gate.openUnsafe()
      yield* steps.untilAllAcknowledged
      expect(listener.events("processed")).toBe(1)
    }),
  )

  law("a message whose handler failed comes again after the delay, with the delivery counted", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener(({ delivery }) => (delivery < 3 ? failing : Effect.void))
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage()
      yield* steps.send(message)
      yield* steps.until("it is handled three times", () => listener.askedTimes(3))
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1, 2, 3])
      expect(new Set(listener.askedIds)).toEqual(new Set([message.id]))
      const [first = 0, second = 0, third = 0] = listener.asked.map(({ atMs }) => atMs)
      // A timer may end slightly early when measured with another clock.
      expect(second - first).toBeGreaterThanOrEqual(45)
      expect(third - second).toBeGreaterThanOrEqual(90)
      expect(listener.observed.map(({ event }) => event)).toEqual([
        "received",
        "redelivered",
        "redelivered",
        "processed",
      ])
    }),
  )

  law(
    "a handler that takes too long is interrupted, and has failed",
    (steps) =>
      Effect.gen(function* () {
        let interrupted = 0
        const forever = Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            interrupted++
          }),
        )
        const listener = new Listener(({ delivery }) => (delivery === 1 ? forever : Effect.void))
        yield* steps.bus.subscribe(listener.subscription)
        yield* steps.send(sampleMessage())
        yield* steps.until("it comes again", () => listener.askedTimes(2))
        yield* steps.untilAllAcknowledged
        expect(listener.deliveries).toEqual([1, 2])
        expect(interrupted).toBe(1)
      }),
    { ackWaitMs: 1_000 },
  )

  law("a handler that breaks has failed", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener(({ delivery }) => {
        if (delivery === 1) throw new Error("a bug")
        return delivery === 2 ? Effect.interrupt : Effect.void
      })
      yield* steps.bus.subscribe(listener.subscription)
      yield* steps.send(sampleMessage())
      yield* steps.until("it is handled", () => listener.askedTimes(3))
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1, 2, 3])
    }),
  )
}

const unavailableLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law(
    "costs no delivery, and no other message is handed out until it can work again",
    (steps) =>
      Effect.gen(function* () {
        let isAvailable = false
        const listener = new Listener(() =>
          isAvailable
            ? Effect.void
            : Effect.fail(new HandlerUnavailable({ message: "the store is away", retryAfterMs: 1 })),
        )
        yield* steps.bus.subscribe(listener.subscription)
        const messages = Array.from({ length: 30 }, (_, index) => sampleMessage({ key: `call-${index}` }))
        yield* steps.send(...messages)
        yield* steps.until("it is asked more often than there are deliveries", () => listener.askedTimes(7))
        expect(new Set(listener.askedIds).size).toBe(1)
        yield* steps.until("the rest waits at the broker", () =>
          Effect.map(steps.bus.sample(groups[0]), ({ lag }) => (lag === 30 ? true : undefined)),
        )
        isAvailable = true
        yield* steps.untilAllAcknowledged
        expect(new Set(listener.deliveries)).toEqual(new Set([1]))
        expect(new Set(listener.askedIds)).toEqual(new Set(messages.map(({ id }): string => id)))
        expect(listener.events("processed")).toBe(30)
      }),
    { handlersAtMost: 1, heldAtMost: 4 },
  )
}

const metadataLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("a handler finds the correlation of its message, and the message as the cause", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const [plain, correlated] = [sampleMessage(), sampleMessage({ correlationId: "order-1" })]
      yield* steps.send(plain, correlated)
      yield* steps.until("both are handled", () => listener.askedTimes(2))
      expect(listener.asked.map(({ metadata }): object => metadata)).toEqual([
        { causationId: plain.id },
        { causationId: correlated.id, correlationId: "order-1" },
      ])
    }),
  )

  law("what a handler publishes belongs to the same work, and names its cause", (steps) =>
    Effect.gen(function* () {
      const answer = sampleMessage({ key: "call-2" })
      const question = sampleMessage({ key: "call-1", correlationId: "order-1" })
      const listener = new Listener(({ envelope }) =>
        envelope.id === question.id
          ? Effect.flatMap(MessageMetadata, (metadata) =>
              steps.bus.publish([{ ...answer, ...metadata }]),
            ).pipe(
              Effect.catch(({ message }) => Effect.fail(new MessageFailed({ message }))),
              Effect.asVoid,
            )
          : Effect.void,
      )
      yield* steps.bus.subscribe(listener.subscription)
      yield* steps.send(question)
      yield* steps.until("the answer is handled", () => listener.askedTimes(2))
      expect(listener.asked[1]?.envelope).toMatchObject({
        id: answer.id,
        correlationId: "order-1",
        causationId: question.id,
      })
    }),
  )
}

const closingLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law(
    "the handler at work finishes, and the rest is left to the next subscription",
    (steps) =>
      Effect.gen(function* () {
        const gate = Latch.makeUnsafe(false)
        const [before, after] = [new Listener(() => gate.await), new Listener()]
        const scope = yield* Scope.make()
        yield* steps.bus.subscribe(before.subscription).pipe(Scope.provide(scope))
        const messages = ["a", "a", "b", "b"].map((key) => sampleMessage({ key }))
        yield* steps.send(...messages)
        yield* steps.until("a handler is at work", () => before.askedTimes(1))
        const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
        gate.openUnsafe()
        yield* Fiber.join(closing)
        expect(before.asked.length).toBe(1)
        expect(before.events("processed")).toBe(1)
        yield* steps.bus.subscribe(after.subscription)
        yield* steps.untilAllAcknowledged
        expect(before.asked.length).toBe(1)
        const rest = messages.filter(({ id }) => !before.askedIds.includes(id))
        for (const key of ["a", "b"]) {
          const left = rest.filter(({ aggregateId }) => aggregateId === key)
          const asked = after.asked.filter(({ envelope }) => envelope.aggregateId === key)
          expect(asked.map(({ envelope }) => envelope.id)).toEqual(left.map(({ id }) => id))
        }
      }),
    { handlersAtMost: 1 },
  )

  law(
    "a handler that does not finish in time is interrupted, and its message comes again",
    (steps) =>
      Effect.gen(function* () {
        const [before, after] = [new Listener(() => Effect.never), new Listener()]
        const scope = yield* Scope.make()
        yield* steps.bus.subscribe(before.subscription).pipe(Scope.provide(scope))
        yield* steps.send(sampleMessage())
        yield* steps.until("a handler is at work", () => before.askedTimes(1))
        const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* steps.until("the subscription is closed", () =>
          closing.pollUnsafe() === undefined ? undefined : true,
        )
        yield* steps.bus.subscribe(after.subscription)
        yield* steps.untilAllAcknowledged
        expect(before.deliveries).toEqual([1])
        expect(after.deliveries).toEqual([fixture.abilities.countsUnanswered ? 2 : 1])
      }),
    { closeWithinMs: 100 },
  )
}
