import { describe, expect, test } from "bun:test"
import { Effect, Exit, Fiber, Latch, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Bus, type BusAbilities, HandlerUnavailable, MessageRefused } from "../../src/Bus.ts"
import { LocalBus, type LocalBusOptions } from "../../src/local/LocalBus.ts"
import { UndeliverableMessages } from "../../src/UndeliverableMessages.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import {
  type BusFixture,
  busLawsOf,
  groups,
  Listener,
  quickIntake,
  sampleMessage,
  sampleRouting,
  takenType,
  virtualTime,
} from "../../testkit/BusFixture.ts"

const fixtureWith = (abilities: BusAbilities): BusFixture => ({
  fresh: (intake) => LocalBus.layer(sampleRouting, { intake, abilities }),
  abilities,
  time: virtualTime,
  listenElsewhere: (types) =>
    Effect.flatMap(Bus, (bus) =>
      bus.subscribe(new Listener(undefined, types, { group: "elsewhere" }).subscription),
    ),
  inject: { skipped: "in one process all bytes come from publish" },
})

const all: BusAbilities = {
  delays: true,
  dropsRepeats: true,
  retriesInOrder: false,
  countsUnanswered: true,
  listsUndeliverable: true,
}
const fixture = fixtureWith(all)

busSuite("local", fixture)
busSuite("local, as if nothing could delay", fixtureWith({ ...all, delays: false }))
busSuite("local, as if repeats were not dropped", fixtureWith({ ...all, dropsRepeats: false }))
busSuite(
  "local, as if undeliverable messages could not be listed",
  fixtureWith({ ...all, listsUndeliverable: false }),
)
busSuite(
  "local, without any ability",
  fixtureWith({
    delays: false,
    dropsRepeats: false,
    retriesInOrder: false,
    countsUnanswered: true,
    listsUndeliverable: false,
  }),
)

describe("a local bus", () => {
  const law = busLawsOf(fixture)
  const refusal = (message: string) => ({ message, isPermanent: false })

  law("refuses a message that no group in the process handles", ({ bus }) =>
    Effect.gen(function* () {
      const nobody = refusal(`no group in this process subscribes to ${takenType}`)
      expect(yield* Effect.flip(bus.publish([sampleMessage()]))).toMatchObject(nobody)
      const listener = new Listener(undefined, ["SomethingElse"])
      yield* bus.subscribe(listener.subscription)
      const mixed = [sampleMessage({ type: "SomethingElse" }), sampleMessage()]
      expect(yield* Effect.flip(bus.publish(mixed))).toMatchObject(nobody)
      // Either all envelopes are posted or none.
      expect(listener.asked).toEqual([])
      expect((yield* bus.sample(groups[0])).lag).toBe(0)
    }),
  )

  law("hands a message to every subscription of its type, and answers when all have handled it", (steps) =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const [quick, slow] = [
        new Listener(),
        new Listener(() => gate.await, [takenType], { group: groups[1] }),
      ]
      yield* steps.bus.subscribe(quick.subscription)
      yield* steps.bus.subscribe(slow.subscription)
      const sent = yield* steps.send(sampleMessage())
      yield* steps.until("both are asked", () => quick.askedTimes(1) && slow.askedTimes(1))
      yield* steps.until("the quick one is done", () => (quick.events("processed") === 1 ? true : undefined))
      expect(sent.pollUnsafe()).toBeUndefined()
      gate.openUnsafe()
      expect(yield* Fiber.join(sent)).toEqual([{ isDuplicate: false }])
    }),
  )

  law("gives up on an unavailable handler, keeps the message, and lets a repeat wait for it", (steps) =>
    Effect.gen(function* () {
      let isAvailable = false
      const listener = new Listener(() =>
        isAvailable
          ? Effect.void
          : Effect.fail(new HandlerUnavailable({ message: "the store is away", retryAfterMs: 1_000 })),
      )
      yield* steps.bus.subscribe(listener.subscription)
      const message = sampleMessage()
      const first = yield* steps.send(message)
      // The handler's time of five deliveries, and the delays between them.
      const withinMs = 5 * quickIntake.ackWaitMs + 450
      yield* TestClock.adjust(withinMs - 1)
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Effect.flip(Fiber.join(first))).toMatchObject({ isPermanent: false })
      // Longer than ids are remembered. The message is not handled yet, so it still counts as a duplicate.
      yield* TestClock.adjust(200_000)
      const again = yield* steps.send(message)
      yield* TestClock.adjust(1_000)
      expect(again.pollUnsafe()).toBeUndefined()
      isAvailable = true
      yield* TestClock.adjust(1_000)
      expect(yield* Fiber.join(again)).toEqual([{ isDuplicate: true }])
      expect(listener.events("processed")).toBe(1)
    }),
  )

  law("recognises repeats for two minutes", ({ bus }) =>
    Effect.gen(function* () {
      const listener = new Listener()
      yield* bus.subscribe(listener.subscription)
      const message = sampleMessage()
      yield* bus.publish([message])
      yield* TestClock.adjust(119_999)
      expect(yield* bus.publish([message])).toEqual([{ isDuplicate: true }])
      yield* TestClock.adjust(1)
      expect(yield* bus.publish([message])).toEqual([{ isDuplicate: false }])
      expect(listener.asked.length).toBe(2)
    }),
  )

  test("holds a bounded number of messages, and takes more when they are handled", () =>
    runOn({ unhandledAtMost: 2 }, (bus) =>
      Effect.gen(function* () {
        const gate = Latch.makeUnsafe(false)
        yield* bus.subscribe(new Listener(() => gate.await).subscription)
        const full =
          "the local bus holds at most 2 unhandled messages and 67108864 bytes of them: publish fewer, or try again later"
        const three = [sampleMessage(), sampleMessage(), sampleMessage()]
        expect(yield* Effect.flip(bus.publish(three))).toMatchObject({ message: full, isPermanent: true })
        const sent = yield* Effect.forkScoped(bus.publish(three.slice(0, 2)), { startImmediately: true })
        expect(yield* Effect.flip(bus.publish(three.slice(2)))).toMatchObject(refusal(full))
        gate.openUnsafe()
        yield* Fiber.join(sent)
        expect(yield* bus.publish(three.slice(2))).toEqual([{ isDuplicate: false }])
      }),
    ))

  test("holds a bounded number of bytes, and takes more when their messages are handled", () =>
    runOn({ unhandledBytesAtMost: 2_000 }, (bus) =>
      Effect.gen(function* () {
        const gate = Latch.makeUnsafe(false)
        yield* bus.subscribe(new Listener(() => gate.await).subscription)
        const large = () => sampleMessage({ payloadJson: JSON.stringify("x".repeat(1_100)) })
        const full = expect.stringContaining("and 2000 bytes of them")
        expect(yield* Effect.flip(bus.publish([large(), large(), large()]))).toMatchObject({
          message: full,
          isPermanent: true,
        })
        const sent = yield* Effect.forkScoped(bus.publish([large()]), { startImmediately: true })
        expect(yield* Effect.flip(bus.publish([large()]))).toMatchObject({
          message: full,
          isPermanent: false,
        })
        gate.openUnsafe()
        yield* Fiber.join(sent)
        expect(yield* bus.publish([large()])).toEqual([{ isDuplicate: false }])
      }),
    ))

  test("keeps a bounded number of bytes of undeliverable messages, the latest, by tenant and in all", () =>
    runOn({ undeliverableBytesAtMost: 4_500, undeliverableBytesAtMostPerTenant: 3_300 }, (bus, keeping) =>
      Effect.gen(function* () {
        yield* bus.subscribe(
          new Listener(() => Effect.fail(new MessageRefused({ message: "no" }))).subscription,
        )
        const setAside = (tenant: string, chars: number) =>
          bus.publish([sampleMessage({ tenant, payloadJson: JSON.stringify("x".repeat(chars)) })])
        const kept = (tenant: string) =>
          Effect.map(keeping.list(tenant, { limit: 10 }), ({ messages }) => messages.map(({ id }) => id))
        for (let count = 0; count < 4; count++) yield* setAside("acme", 800)
        expect(yield* kept("acme")).toEqual(["2", "3", "4"])
        // One large message takes the place of several small ones.
        yield* setAside("acme", 1_800)
        expect(yield* kept("acme")).toEqual(["4", "5"])
        for (let count = 0; count < 2; count++) yield* setAside("globex", 800)
        expect(yield* kept("acme")).toEqual(["5"])
        expect(yield* kept("globex")).toEqual(["6", "7"])
      }),
    ))

  test("keeps a bounded number of undeliverable messages, the latest, by tenant and in all", () =>
    runOn({ undeliverableAtMost: 5, undeliverableAtMostPerTenant: 3 }, (bus, keeping) =>
      Effect.gen(function* () {
        yield* bus.subscribe(
          new Listener(() => Effect.fail(new MessageRefused({ message: "no" }))).subscription,
        )
        const setAsides: Readonly<Record<string, Array<string>>> = { acme: [], globex: [] }
        const setAside = Effect.fnUntraced(function* (tenant: string) {
          const message = sampleMessage({ tenant })
          yield* bus.publish([message])
          setAsides[tenant]?.push(message.id)
        })
        const kept = (tenant: string) =>
          Effect.map(keeping.list(tenant, { limit: 10 }), ({ messages }) =>
            messages.map(({ record }) => String(record.envelope?.id)),
          )
        for (let count = 0; count < 4; count++) yield* setAside("acme")
        expect(yield* kept("acme")).toEqual(setAsides["acme"]?.slice(1) ?? [])
        for (let count = 0; count < 3; count++) yield* setAside("globex")
        expect(yield* kept("acme")).toEqual(setAsides["acme"]?.slice(2) ?? [])
        expect(yield* kept("globex")).toEqual(setAsides["globex"] ?? [])
      }),
    ))

  law(
    "a subscription that closes is sent nothing more, and leaves the rest in order",
    (steps) =>
      Effect.gen(function* () {
        const { bus } = steps
        const gate = Latch.makeUnsafe(false)
        const [before, after] = [new Listener(() => gate.await), new Listener()]
        const scope = yield* Scope.make()
        yield* bus.subscribe(before.subscription).pipe(Scope.provide(scope))
        const messages = Array.from({ length: 4 }, () => sampleMessage())
        yield* steps.send(...messages)
        yield* steps.until("a handler is at work", () => before.askedTimes(1))
        const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
        expect(yield* Effect.flip(bus.publish([sampleMessage()]))).toMatchObject({ isPermanent: false })
        gate.openUnsafe()
        yield* Fiber.join(closing)
        yield* bus.subscribe(after.subscription)
        yield* steps.untilAllAcknowledged
        expect(after.askedIds).toEqual(messages.slice(1).map(({ id }): string => id))
        // One message had been taken; the others were still waiting.
        expect(after.deliveries).toEqual([2, 1, 1])
      }),
    { heldAtMost: 2 },
  )

  law("refuses a member that takes other types than its group", ({ bus }) =>
    Effect.gen(function* () {
      yield* bus.subscribe(new Listener().subscription)
      const other = new Listener(undefined, ["SomethingElse"])
      const refused = yield* Effect.flip(bus.subscribe(other.subscription))
      expect(refused.message).toContain(`The group ${groups[0]} takes ${takenType}`)
    }),
  )

  law("knows who listens, and tells when that may have changed", ({ bus }) =>
    Effect.gen(function* () {
      let arrivals = 0
      bus.audience?.onArrival(() => {
        arrivals++
      })
      expect(bus.audience?.hears(takenType)).toBe(false)
      const scope = yield* Scope.make()
      yield* bus.subscribe(new Listener().subscription).pipe(Scope.provide(scope))
      expect([bus.audience?.hears(takenType), bus.audience?.hears("SomethingElse")]).toEqual([true, false])
      expect(arrivals).toBe(1)
      yield* Scope.close(scope, Exit.void)
      expect(bus.audience?.hears(takenType)).toBe(false)
    }),
  )

  law("replays only to someone who listens", (steps) =>
    Effect.gen(function* () {
      const { bus } = steps
      const scope = yield* Scope.make()
      const refusing = new Listener(() => Effect.fail(new MessageRefused({ message: "no" })))
      yield* bus.subscribe(refusing.subscription).pipe(Scope.provide(scope))
      yield* bus.publish([sampleMessage()])
      yield* Scope.close(scope, Exit.void)
      const [entry] = yield* steps.undeliverable("acme", 1)
      const refused = yield* Effect.flip(steps.kept.replay("acme", entry?.id ?? ""))
      expect(refused.message).toBe("the group first has no member in this process")
      expect(yield* steps.undeliverable("acme", 1)).toHaveLength(1)
    }),
  )

  law("refuses a cursor that it did not return", ({ kept }) =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(kept.list("acme", { limit: 1, cursor: "x" }))
      expect(refused.message).toContain("an earlier page")
    }),
  )
})

const runOn = (
  options: Partial<LocalBusOptions>,
  body: (
    bus: Bus["Service"],
    keeping: UndeliverableMessages["Service"],
  ) => Effect.Effect<void, unknown, Scope.Scope>,
): Promise<void> =>
  virtualTime.run(
    Effect.flatMap(Effect.all([Bus, UndeliverableMessages]), ([bus, keeping]) => body(bus, keeping)).pipe(
      Effect.scoped,
      Effect.provide(LocalBus.layer(sampleRouting, options)),
      Effect.provide(Logger.layer([])),
    ),
  )
