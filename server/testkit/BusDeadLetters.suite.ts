// The laws of the Bus port that concern messages which could not be handled.
import { describe, expect, test } from "bun:test"
import { unknownTenant } from "@punctual/api/DeadLetter"
import { encodeEnvelope, type SealedEnvelope } from "@punctual/api/Envelope"
import { Effect } from "effect"
import { type DeadLetterEntry, MessageFailed, MessageRefused } from "../src/ports/Bus.ts"
import { type BusFixture, type BusSteps, busLawsOf, Listener, sampleMessage } from "./BusFixture.ts"

export const busDeadLettersSuite = (fixture: BusFixture): void => {
  describe("burial", () => burialLaws(fixture))
  describe("malformed messages", () => malformedLaws(fixture))
  describe("dead letters", () => recordLaws(fixture))
}

const refusing = () => Effect.fail(new MessageRefused({ message: "it makes no sense" }))

/** Sends a message that is refused, and waits until it is dead. */
const bury = Effect.fnUntraced(function* (steps: BusSteps, message: SealedEnvelope) {
  yield* steps.send(message)
  yield* steps.until("it is a dead letter", () =>
    Effect.map(steps.bus.deadLetters.list(message.tenantId, { limit: 100 }), ({ entries }) =>
      entries.find(({ letter }) => letter.envelope?.id === message.id),
    ),
  )
  yield* steps.untilAllAcknowledged
})

const burialLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("the fifth failure buries a message with its story, and it is not handled again", (steps) =>
    Effect.gen(function* () {
      const poison = sampleMessage({ correlationId: "order-1" })
      const listener = new Listener(({ envelope, delivery }) =>
        envelope.id === poison.id
          ? Effect.fail(new MessageFailed({ message: `failure ${delivery}` }))
          : Effect.void,
      )
      yield* steps.bus.subscribe(listener.subscription)
      expect((yield* steps.bus.sample).oldestDeadLetterAt).toBeUndefined()
      yield* steps.send(poison)
      const [entry] = yield* steps.deadLetters("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1, 2, 3, 4, 5])
      expect(entry?.tenant).toBe("acme")
      expect(entry?.letter).toMatchObject({
        reason: "deliveriesExhausted",
        deliveries: 5,
        firstFailure: { error: "failure 1" },
        lastFailure: { error: "failure 5" },
        envelope: { id: poison.id, correlationId: "order-1" },
      })
      const { firstFailure, lastFailure } = entry?.letter ?? {}
      expect((lastFailure?.at ?? 0) - (firstFailure?.at ?? 0)).toBeGreaterThanOrEqual(430)
      expect((yield* steps.bus.sample).oldestDeadLetterAt).toBe(entry?.diedAt)
      expect(listener.events("deadLettered")).toBe(1)
      expect(listener.events("processed")).toBe(0)
      // Those behind it are handled as ever.
      yield* steps.send(sampleMessage())
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1, 2, 3, 4, 5, 1])
    }),
  )

  law("a refused message is buried at once", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener(refusing)
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage()
      yield* steps.send(message)
      const [entry] = yield* steps.deadLetters("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1])
      expect(entry?.letter).toMatchObject({
        reason: "refused",
        deliveries: 1,
        firstFailure: { error: "it makes no sense" },
        lastFailure: { error: "it makes no sense" },
        envelope: { id: message.id },
      })
    }),
  )
}

const malformedLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("an envelope whose payload is no JSON is buried, bytes and all, and hinders nobody", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const malformed = sampleMessage({ payloadJson: '{"amount":' })
      yield* steps.send(malformed, sampleMessage())
      const [entry] = yield* steps.deadLetters("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(listener.asked.length).toBe(1)
      expect(entry?.letter).toMatchObject({ reason: "malformed", deliveries: 1 })
      expect(entry?.letter.firstFailure.error).toContain("JSON")
      expect(entry?.original).toEqual(encodeEnvelope(malformed))
    }),
  )

  const { inject } = fixture
  const rawTitle = "bytes that are no envelope go to the dead letters of whom they were sent to"
  if (!isFunction(inject)) {
    test.skip(`${rawTitle} (skipped: ${inject.skipped})`, () => {})
    return
  }

  law(rawTitle, (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const sound = encodeEnvelope(sampleMessage({ tenant: "globex" }))
      const cases = [
        { bytes: new Uint8Array([0xff, 0xfe, 0x00]), reason: "malformed" },
        { bytes: text("[1]"), reason: "malformed" },
        { bytes: text('{"tenantId":"globex"}'), reason: "malformed" },
        { bytes: text('{"type":"Reminder","tenantId":"globex"}'), reason: "malformed" },
        { bytes: sound, reason: "refused" },
      ]
      for (const { bytes } of cases) yield* inject("acme", bytes)
      const entries = yield* steps.deadLetters("acme", cases.length)
      yield* steps.untilAllAcknowledged
      expect(listener.asked).toEqual([])
      for (const { bytes, reason } of cases) {
        const found = entries.filter(({ original }) => Buffer.from(original).equals(bytes))
        expect(found).toMatchObject([{ tenant: "acme", letter: { reason, deliveries: 1 } }])
      }
      const refused = entries.find(({ letter }) => letter.reason === "refused")
      const why = "the envelope is of tenant globex, but was sent to tenant acme"
      expect(refused?.letter.lastFailure.error).toBe(why)
      expect((yield* steps.bus.deadLetters.list("globex", { limit: 10 })).entries).toEqual([])
      expect((yield* steps.bus.deadLetters.list(unknownTenant, { limit: 10 })).entries).toEqual([])
    }),
  )
}

const recordLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("keep the message byte for byte", (steps) =>
    Effect.gen(function* () {
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const payloadJson = '{ "amount" : 12345678901234567890.10,\n\t"ü":"\\u0041" , "a":1,"a":2 }'
      const message = sampleMessage({ payloadJson })
      yield* bury(steps, message)
      const [entry] = yield* steps.deadLetters("acme", 1)
      expect(new TextDecoder().decode(entry?.original)).toBe(
        new TextDecoder().decode(encodeEnvelope(message)),
      )
      expect(entry && (yield* steps.bus.deadLetters.find("acme", entry.id))).toEqual(entry)
    }),
  )

  law("are listed oldest first, page by page, for each tenant its own", (steps) =>
    Effect.gen(function* () {
      const { deadLetters } = steps.bus
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const messages = Array.from({ length: 5 }, () => sampleMessage())
      for (const message of messages) {
        yield* bury(steps, message)
        yield* bury(steps, sampleMessage({ tenant: "globex" }))
      }
      const pages: Array<ReadonlyArray<string | undefined>> = []
      let cursor: string | undefined
      do {
        const page: DeadLetterPage = yield* deadLetters.list("acme", {
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        })
        pages.push(page.entries.map(({ letter }) => letter.envelope?.id))
        cursor = page.next
      } while (cursor !== undefined && pages.length < 10)
      const ids = messages.map(({ id }) => id)
      expect(pages.filter((page) => page.length > 0)).toEqual([
        ids.slice(0, 2),
        ids.slice(2, 4),
        ids.slice(4),
      ])
      expect((yield* deadLetters.list("globex", { limit: 10 })).entries.length).toBe(5)
      expect((yield* deadLetters.list("initech", { limit: 10 })).entries).toEqual([])
    }),
  )

  law("a replay is a new message that was never delivered, and takes the dead letter away", (steps) =>
    Effect.gen(function* () {
      const { deadLetters } = steps.bus
      let isMended = false
      const listener = new Listener(() => (isMended ? Effect.void : refusing()))
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage({ correlationId: "order-1", payloadJson: '{"n":12345678901234567890}' })
      yield* bury(steps, message)
      const [entry] = yield* steps.deadLetters("acme", 1)
      isMended = true
      expect(yield* deadLetters.replay("acme", entry?.id ?? "")).toBe("replayed")
      yield* steps.until("it is handled again", () => listener.askedTimes(2))
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1, 1])
      expect<unknown>(listener.asked[1]?.envelope).toEqual(listener.asked[0]?.envelope)
      expect(yield* deadLetters.find("acme", entry?.id ?? "")).toBeUndefined()
      expect(yield* deadLetters.replay("acme", entry?.id ?? "")).toBe("notFound")
      expect((yield* steps.bus.sample).oldestDeadLetterAt).toBeUndefined()
    }),
  )

  law("a replay that fails again is buried again", (steps) =>
    Effect.gen(function* () {
      const { deadLetters } = steps.bus
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const message = sampleMessage()
      yield* bury(steps, message)
      const [first] = yield* steps.deadLetters("acme", 1)
      expect(yield* deadLetters.replay("acme", first?.id ?? "")).toBe("replayed")
      const [second] = yield* steps.deadLetters("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(second?.id).not.toBe(first?.id)
      expect(second?.original).toEqual(encodeEnvelope(message))
    }),
  )

  law("a discarded dead letter is gone", (steps) =>
    Effect.gen(function* () {
      const { deadLetters } = steps.bus
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      yield* bury(steps, sampleMessage())
      yield* bury(steps, sampleMessage())
      const [first, second] = yield* steps.deadLetters("acme", 2)
      expect(yield* deadLetters.discard("acme", first?.id ?? "")).toBe("discarded")
      expect(yield* deadLetters.discard("acme", first?.id ?? "")).toBe("notFound")
      expect(yield* deadLetters.find("acme", first?.id ?? "")).toBeUndefined()
      expect((yield* steps.deadLetters("acme", 1)).map(({ id }) => id)).toEqual([second?.id ?? ""])
    }),
  )

  law("nobody reaches what is another tenant's, or never was", (steps) =>
    Effect.gen(function* () {
      const { deadLetters } = steps.bus
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      yield* bury(steps, sampleMessage())
      const [entry] = yield* steps.deadLetters("acme", 1)
      for (const [tenant, id] of [
        ["globex", entry?.id ?? ""],
        ["acme", "4711"],
        ["acme", "no id"],
        ["acme", ""],
      ] as const) {
        expect(yield* deadLetters.find(tenant, id)).toBeUndefined()
        expect(yield* deadLetters.replay(tenant, id)).toBe("notFound")
        expect(yield* deadLetters.discard(tenant, id)).toBe("notFound")
      }
      expect<unknown>(yield* steps.deadLetters("acme", 1)).toEqual([entry])
    }),
  )
}

interface DeadLetterPage {
  readonly entries: ReadonlyArray<DeadLetterEntry>
  readonly next?: string
}

const isFunction = <F extends (...args: never) => unknown>(value: F | object): value is F =>
  typeof value === "function"

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
