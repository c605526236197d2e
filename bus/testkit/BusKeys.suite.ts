// The laws of the Bus port for the order of messages with the same key, also when one of them fails.
import { describe, expect } from "bun:test"
import { Effect, Latch } from "effect"
import { MessageFailed } from "../src/Bus.ts"
import { type BusFixture, busLawsOf, Listener, sampleMessage } from "./BusFixture.ts"

export const busKeysSuite = (fixture: BusFixture): void => {
  describe("keys", () => keyLaws(fixture))
}

const failing = Effect.fail(new MessageFailed({ message: "not yet" }))

const keyLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("messages of one key are handled in order, one at a time, among many keys", (steps) =>
    Effect.gen(function* () {
      const running = new Map<string, number>()
      let mostOfOneKey = 0
      const listener = new Listener(({ envelope: { tenantId, aggregateId } }) =>
        Effect.gen(function* () {
          const key = `${tenantId}/${aggregateId}`
          const count = (running.get(key) ?? 0) + 1
          running.set(key, count)
          mostOfOneKey = Math.max(mostOfOneKey, count)
          for (let turn = 0; turn < 3; turn++) yield* Effect.yieldNow
          running.set(key, (running.get(key) ?? 0) - 1)
        }),
      )
      yield* steps.bus.subscribe(listener.subscription)
      const keys = ["a", "b", "c"].flatMap((key) => ["acme", "globex"].map((tenant) => ({ key, tenant })))
      const messages = Array.from({ length: 20 }, () => keys.map((key) => sampleMessage(key))).flat()
      yield* steps.send(...messages.slice(0, 60))
      yield* steps.send(...messages.slice(60))
      yield* steps.until("all are handled", () => listener.askedTimes(messages.length))
      yield* steps.untilAllAcknowledged
      expect(mostOfOneKey).toBe(1)
      for (const { key, tenant } of keys) {
        const idsOfKey = (envelopes: ReadonlyArray<{ tenantId: string; aggregateId: string; id: string }>) =>
          envelopes.filter((one) => one.tenantId === tenant && one.aggregateId === key).map(({ id }) => id)
        expect(idsOfKey(listener.asked.map(({ envelope }) => envelope))).toEqual(idsOfKey(messages))
      }
    }),
  )

  law("many keys are handled side by side", (steps) =>
    Effect.gen(function* () {
      const together = Latch.makeUnsafe(false)
      const listener = new Listener(() => {
        if (listener.asked.length === 8) together.openUnsafe()
        return together.await
      })
      yield* steps.bus.subscribe(listener.subscription)
      // The same id in another tenant is another key.
      const keys = ["a", "b", "c", "d"].flatMap((key) =>
        ["acme", "globex"].map((tenant) => ({ key, tenant })),
      )
      yield* steps.send(...keys.map((key) => sampleMessage(key)))
      yield* steps.untilAllAcknowledged
      expect(listener.deliveries).toEqual(Array.from({ length: 8 }, () => 1))
    }),
  )

  if (fixture.abilities.retriesInOrder) {
    law("those behind a message that failed wait for it in its key, and other keys go on", (steps) =>
      Effect.gen(function* () {
        const [first, second, third] = [sampleMessage(), sampleMessage(), sampleMessage()]
        const other = sampleMessage({ key: "call-2" })
        const listener = new Listener(({ envelope, delivery }) =>
          envelope.id === first.id && delivery < 3 ? failing : Effect.void,
        )
        yield* steps.bus.subscribe(listener.subscription)
        yield* steps.send(first, second, other)
        yield* steps.until("the first has failed twice", () => listener.askedTimes(3))
        yield* steps.send(third)
        yield* steps.until("all are handled", () => listener.askedTimes(6))
        yield* steps.untilAllAcknowledged
        const ofKey = listener.askedIds.filter((id) => id !== other.id)
        expect(ofKey).toEqual([first.id, first.id, first.id, second.id, third.id])
        expect(listener.askedIds.indexOf(other.id)).toBeLessThan(3)
      }),
    )
    return
  }

  law("a message that failed comes again after those behind it, and holds nobody back", (steps) =>
    Effect.gen(function* () {
      const [first, second] = [sampleMessage(), sampleMessage()]
      const listener = new Listener(({ envelope, delivery }) =>
        envelope.id === first.id && delivery === 1 ? failing : Effect.void,
      )
      yield* steps.bus.subscribe(listener.subscription)
      yield* steps.send(first, second)
      yield* steps.until("the first is handled again", () => listener.askedTimes(3))
      expect(listener.askedIds).toEqual([first.id, second.id, first.id])
    }),
  )
}
