// The laws of the Bus port for messages that could not be handled.

import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { MessageFailed, MessageRefused } from "../src/Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../src/Envelope.ts"
import { unknownTenant } from "../src/Undeliverable.ts"
import type { UndeliverablePage } from "../src/UndeliverableMessages.ts"
import { type BusFixture, type BusSteps, busLawsOf, Listener, sampleMessage } from "./BusFixture.ts"

export const busUndeliverableSuite = (fixture: BusFixture): void => {
  describe("setAside", () => failureLaws(fixture))
  describe("malformed messages", () => malformedLaws(fixture))
  describe("undeliverable messages", () => recordLaws(fixture))
}

const refusing = () => Effect.fail(new MessageRefused({ message: "it makes no sense" }))

/** Sends a message that the handler refuses, and waits until it is stored as undeliverable. */
const setAside = Effect.fnUntraced(function* (steps: BusSteps, message: OutgoingEnvelope) {
  yield* steps.send(message)
  yield* steps.until("it is an undeliverable message", () =>
    Effect.map(steps.kept.list(message.tenantId, { limit: 100 }), ({ messages }) =>
      messages.find(({ record }) => record.envelope?.id === message.id),
    ),
  )
  yield* steps.untilAllAcknowledged
})

const failureLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law(
    "the fifth failure makes a message undeliverable, with its failures, and it is not handled again",
    (steps) =>
      Effect.gen(function* () {
        const poison = sampleMessage({ correlationId: "order-1" })
        const listener = new Listener(({ envelope, delivery }) =>
          envelope.id === poison.id
            ? Effect.fail(new MessageFailed({ message: `failure ${delivery}` }))
            : Effect.void,
        )
        yield* steps.bus.subscribe(listener.subscription)
        expect(yield* steps.kept.oldestAt).toBeUndefined()
        yield* steps.send(poison)
        const [entry] = yield* steps.undeliverable("acme", 1)
        yield* steps.untilAllAcknowledged
        expect(listener.deliveries).toEqual([1, 2, 3, 4, 5])
        expect(entry?.tenant).toBe("acme")
        expect(entry?.record).toMatchObject({
          reason: "deliveriesExhausted",
          deliveries: 5,
          firstFailure: { error: "failure 1" },
          lastFailure: { error: "failure 5" },
          envelope: { id: poison.id, correlationId: "order-1" },
        })
        const { firstFailure, lastFailure } = entry?.record ?? {}
        expect((lastFailure?.at ?? 0) - (firstFailure?.at ?? 0)).toBeGreaterThanOrEqual(430)
        expect(yield* steps.kept.oldestAt).toBe(entry?.storedAt)
        expect(listener.events("undeliverable")).toBe(1)
        expect(listener.events("processed")).toBe(0)
        // The messages behind it are handled as usual.
        yield* steps.send(sampleMessage())
        yield* steps.untilAllAcknowledged
        expect(listener.deliveries).toEqual([1, 2, 3, 4, 5, 1])
      }),
  )

  law("a refused message is undeliverable at once", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener(refusing)
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage()
      yield* steps.send(message)
      const [entry] = yield* steps.undeliverable("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual([1])
      expect(entry?.record).toMatchObject({
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

  law("an envelope whose payload is not JSON is undeliverable, byte for byte, and blocks no other", (steps) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* steps.bus.subscribe(listener.subscription)
      const malformed = sampleMessage({ payloadJson: '{"amount":' })
      yield* steps.send(malformed, sampleMessage())
      const [entry] = yield* steps.undeliverable("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(listener.asked.length).toBe(1)
      expect(entry?.record).toMatchObject({ reason: "malformed", deliveries: 1 })
      expect(entry?.record.firstFailure.error).toContain("JSON")
      expect(entry?.original).toEqual(encodeEnvelope(malformed))
    }),
  )

  const { inject } = fixture
  const rawTitle =
    "bytes that are not an envelope go to the undeliverable messages of the tenant in the address"
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
      const entries = yield* steps.undeliverable("acme", cases.length)
      yield* steps.untilAllAcknowledged
      expect(listener.asked).toEqual([])
      for (const { bytes, reason } of cases) {
        const found = entries.filter(({ original }) => Buffer.from(original).equals(bytes))
        expect(found).toMatchObject([{ tenant: "acme", record: { reason, deliveries: 1 } }])
      }
      const refused = entries.find(({ record }) => record.reason === "refused")
      const why = "the envelope names tenant globex, but was sent to tenant acme"
      expect(refused?.record.lastFailure.error).toBe(why)
      expect((yield* steps.kept.list("globex", { limit: 10 })).messages).toEqual([])
      expect((yield* steps.kept.list(unknownTenant, { limit: 10 })).messages).toEqual([])
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
      yield* setAside(steps, message)
      const [entry] = yield* steps.undeliverable("acme", 1)
      expect(new TextDecoder().decode(entry?.original)).toBe(
        new TextDecoder().decode(encodeEnvelope(message)),
      )
      expect(entry && (yield* steps.kept.find("acme", entry.id))).toEqual(entry)
    }),
  )

  law("are listed oldest first, page by page, for each tenant its own", (steps) =>
    Effect.gen(function* () {
      const { kept: undeliverable } = steps
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const messages = Array.from({ length: 5 }, () => sampleMessage())
      for (const message of messages) {
        yield* setAside(steps, message)
        yield* setAside(steps, sampleMessage({ tenant: "globex" }))
      }
      const pages: Array<ReadonlyArray<string | undefined>> = []
      let cursor: string | undefined
      do {
        const page: UndeliverablePage = yield* undeliverable.list("acme", {
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        })
        pages.push(page.messages.map(({ record }) => record.envelope?.id))
        cursor = page.next
      } while (cursor !== undefined && pages.length < 10)
      const ids = messages.map(({ id }) => id)
      expect(pages.filter((page) => page.length > 0)).toEqual([
        ids.slice(0, 2),
        ids.slice(2, 4),
        ids.slice(4),
      ])
      expect((yield* undeliverable.list("globex", { limit: 10 })).messages.length).toBe(5)
      expect((yield* undeliverable.list("initech", { limit: 10 })).messages).toEqual([])
    }),
  )

  law("that are large make a page short, and the next page continues after it", (steps) =>
    Effect.gen(function* () {
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const payloadJson = JSON.stringify("x".repeat(400_000))
      for (let sent = 0; sent < 4; sent++) yield* steps.send(sampleMessage({ payloadJson }))
      const rest = yield* steps.until("a fourth message is on the second page", () =>
        Effect.gen(function* () {
          const { messages, next } = yield* steps.kept.list("acme", { limit: 100 })
          if (next === undefined) return undefined
          expect(messages.length).toBe(3)
          const second = yield* steps.kept.list("acme", { limit: 100, cursor: next })
          return second.messages.length === 0 ? undefined : second
        }),
      )
      expect([rest.messages.length, rest.next]).toEqual([1, undefined])
      yield* steps.untilAllAcknowledged
    }),
  )

  law("are listed over all tenants, oldest first, page by page, each with its tenant", (steps) =>
    Effect.gen(function* () {
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const tenants = ["acme", "globex", "acme", "initech", "globex"]
      const messages = tenants.map((tenant) => sampleMessage({ tenant }))
      for (const message of messages) yield* setAside(steps, message)
      const listed: Array<unknown> = []
      let cursor: string | undefined
      do {
        const page: UndeliverablePage = yield* steps.kept.list(undefined, {
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        })
        expect(page.messages.length).toBeLessThanOrEqual(2)
        for (const { tenant, record } of page.messages) listed.push([tenant, record.envelope?.id])
        cursor = page.next
      } while (cursor !== undefined && listed.length < 10)
      expect(listed).toEqual(messages.map(({ tenantId, id }) => [tenantId, id]))
    }),
  )

  law(
    "a replay is a new message that was never delivered, and takes the undeliverable message away",
    (steps) =>
      Effect.gen(function* () {
        const { kept: undeliverable } = steps
        let isFixed = false
        const listener = new Listener(() => (isFixed ? Effect.void : refusing()))
        yield* steps.bus.subscribe(listener.subscription)
        const message = sampleMessage({ correlationId: "order-1", payloadJson: '{"n":12345678901234567890}' })
        yield* setAside(steps, message)
        const [entry] = yield* steps.undeliverable("acme", 1)
        isFixed = true
        expect(yield* undeliverable.replay("acme", entry?.id ?? "")).toBe("replayed")
        yield* steps.until("it is handled again", () => listener.askedTimes(2))
        yield* steps.untilAllAcknowledged
        expect(listener.deliveries).toEqual([1, 1])
        expect<unknown>(listener.asked[1]?.envelope).toEqual(listener.asked[0]?.envelope)
        expect(yield* undeliverable.find("acme", entry?.id ?? "")).toBeUndefined()
        expect(yield* undeliverable.replay("acme", entry?.id ?? "")).toBe("notFound")
        expect(yield* steps.kept.oldestAt).toBeUndefined()
      }),
  )

  law("a replay that fails again is undeliverable again", (steps) =>
    Effect.gen(function* () {
      const { kept: undeliverable } = steps
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      const message = sampleMessage()
      yield* setAside(steps, message)
      const [first] = yield* steps.undeliverable("acme", 1)
      expect(yield* undeliverable.replay("acme", first?.id ?? "")).toBe("replayed")
      const [second] = yield* steps.undeliverable("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(second?.id).not.toBe(first?.id)
      expect(second?.original).toEqual(encodeEnvelope(message))
    }),
  )

  law("a discarded undeliverable message is gone", (steps) =>
    Effect.gen(function* () {
      const { kept: undeliverable } = steps
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      yield* setAside(steps, sampleMessage())
      yield* setAside(steps, sampleMessage())
      const [first, second] = yield* steps.undeliverable("acme", 2)
      expect(yield* undeliverable.discard("acme", first?.id ?? "")).toBe("discarded")
      expect(yield* undeliverable.discard("acme", first?.id ?? "")).toBe("notFound")
      expect(yield* undeliverable.find("acme", first?.id ?? "")).toBeUndefined()
      expect((yield* steps.undeliverable("acme", 1)).map(({ id }) => id)).toEqual([second?.id ?? ""])
    }),
  )

  law("a caller cannot reach a message of another tenant, or one that never existed", (steps) =>
    Effect.gen(function* () {
      const { kept: undeliverable } = steps
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      yield* setAside(steps, sampleMessage())
      const [entry] = yield* steps.undeliverable("acme", 1)
      for (const [tenant, id] of [
        ["globex", entry?.id ?? ""],
        ["acme", "4711"],
        ["acme", "no id"],
        ["acme", ""],
      ] as const) {
        expect(yield* undeliverable.find(tenant, id)).toBeUndefined()
        expect(yield* undeliverable.replay(tenant, id)).toBe("notFound")
        expect(yield* undeliverable.discard(tenant, id)).toBe("notFound")
      }
      expect<unknown>(yield* steps.undeliverable("acme", 1)).toEqual([entry])
    }),
  )
}

const isFunction = <F extends (...args: never) => unknown>(value: F | object): value is F =>
  typeof value === "function"

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
