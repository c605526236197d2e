// The laws of the Bus port for groups. Every group gets every message of its topic, and its members share them. A
// message that one group cannot handle does not affect other groups.
import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Latch } from "effect"
import { MessageFailed, MessageRefused } from "../src/Bus.ts"
import {
  type BusFixture,
  busLawsOf,
  groups,
  Listener,
  otherTopic,
  sampleMessage,
  takenType,
} from "./BusFixture.ts"

export const busGroupsSuite = (fixture: BusFixture): void => {
  describe("groups", () => groupLaws(fixture))
  describe("members of a group", () => memberLaws(fixture))
  describe("several topics", () => topicLaws(fixture))
}

const second = { group: groups[1] }

const groupLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("each get every message, in the order of its key", (steps) =>
    Effect.gen(function* () {
      const [one, two] = [new Listener(), new Listener(undefined, [takenType], second)]
      yield* steps.bus.subscribe(one.subscription)
      yield* steps.bus.subscribe(two.subscription)
      const messages = Array.from({ length: 10 }, () => sampleMessage())
      yield* steps.send(...messages)
      yield* steps.until("both have all", () => one.askedTimes(10) && two.askedTimes(10))
      yield* steps.untilAllAcknowledged
      const ids = messages.map(({ id }): string => id)
      expect(one.askedIds).toEqual(ids)
      expect(two.askedIds).toEqual(ids)
    }),
  )

  law("do not wait for each other, and count deliveries each for itself", (steps) =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const failsOnce = new Listener(({ delivery }) =>
        delivery === 1 ? Effect.fail(new MessageFailed({ message: "not yet" })) : Effect.void,
      )
      const slow = new Listener(() => gate.await, [takenType], second)
      yield* steps.bus.subscribe(failsOnce.subscription)
      yield* steps.bus.subscribe(slow.subscription)
      const sent = yield* steps.send(sampleMessage())
      yield* steps.until("the first group is done", () => failsOnce.events("processed") || undefined)
      expect(slow.events("processed")).toBe(0)
      expect((yield* steps.bus.sample(groups[1])).lag).toBe(1)
      gate.openUnsafe()
      yield* Fiber.join(sent)
      yield* steps.untilAllAcknowledged
      expect(failsOnce.deliveries).toEqual([1, 2])
      expect(slow.deliveries).toEqual([1])
    }),
  )

  law("take their own types of the same topic", (steps) =>
    Effect.gen(function* () {
      const [one, two] = [new Listener(), new Listener(undefined, ["SomethingElse"], second)]
      yield* steps.bus.subscribe(one.subscription)
      yield* steps.bus.subscribe(two.subscription)
      const [reminder, other] = [sampleMessage(), sampleMessage({ type: "SomethingElse" })]
      yield* steps.send(reminder, other)
      yield* steps.untilAllAcknowledged
      yield* steps.until("both are asked", () => one.askedTimes(1) && two.askedTimes(1))
      expect(one.askedIds).toEqual([reminder.id])
      expect(two.askedIds).toEqual([other.id])
    }),
  )

  law("are refused under a name that cannot be part of an address", (steps) =>
    Effect.gen(function* () {
      for (const group of ["", "a.b", "a b", "*", "x".repeat(33)]) {
        const listener = new Listener(undefined, [takenType], { group })
        const refused = yield* Effect.flip(steps.bus.subscribe(listener.subscription))
        expect(refused.message).toContain("is not a valid name of a group")
      }
    }),
  )

  if (!fixture.abilities.listsUndeliverable) return

  law("an undeliverable message names its group, and a replay reaches that group alone", (steps) =>
    Effect.gen(function* () {
      let isFixed = false
      const refusing = new Listener(
        () => (isFixed ? Effect.void : Effect.fail(new MessageRefused({ message: "no" }))),
        [takenType],
        second,
      )
      const content = new Listener()
      yield* steps.bus.subscribe(content.subscription)
      yield* steps.bus.subscribe(refusing.subscription)
      yield* steps.send(sampleMessage())
      const [stored] = yield* steps.undeliverable("acme", 1)
      yield* steps.untilAllAcknowledged
      expect(stored?.record.group).toBe(groups[1])
      isFixed = true
      expect(yield* steps.kept.replay("acme", stored?.id ?? "")).toBe("replayed")
      yield* steps.until("it is handled", () => refusing.askedTimes(2))
      // A later message shows that the other group has skipped the replay.
      yield* steps.send(sampleMessage())
      yield* steps.until("the next is handled", () => content.askedTimes(2))
      yield* steps.untilAllAcknowledged
      expect(content.asked.length).toBe(2)
      expect(refusing.asked.length).toBe(3)
    }),
  )

  law("a message that both cannot handle is stored for each of them", (steps) =>
    Effect.gen(function* () {
      const refusing = () => Effect.fail(new MessageRefused({ message: "no" }))
      yield* steps.bus.subscribe(new Listener(refusing).subscription)
      yield* steps.bus.subscribe(new Listener(refusing, [takenType], second).subscription)
      yield* steps.send(sampleMessage())
      const stored = yield* steps.undeliverable("acme", 2)
      expect(stored.map(({ record }) => record.group).toSorted()).toEqual([...groups])
    }),
  )
}

const memberLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)
  const title = "share its messages: each message goes to one of them, and each of them gets some"
  const { membersShare } = fixture
  if (membersShare !== undefined) {
    test.skip(`${title} (skipped: ${membersShare.skipped})`, () => {})
    return
  }

  law(
    title,
    (steps) =>
      Effect.gen(function* () {
        const [one, two] = [new Listener(), new Listener()]
        const handled = () => one.asked.length + two.asked.length
        yield* steps.bus.subscribe(one.subscription)
        yield* steps.bus.subscribe(two.subscription)
        const messages = Array.from({ length: 200 }, (_, index) => sampleMessage({ key: `call-${index}` }))
        yield* steps.send(...messages)
        yield* steps.until("all are handled", () => (handled() >= messages.length ? true : undefined))
        yield* steps.untilAllAcknowledged
        const ids = messages.map(({ id }): string => id)
        expect([...one.askedIds, ...two.askedIds].toSorted()).toEqual(ids.toSorted())
        expect(one.asked.length).toBeGreaterThan(0)
        expect(two.asked.length).toBeGreaterThan(0)
      }),
    // Small enough that one member cannot take all messages before the other one asks.
    { heldAtMost: 10 },
  )
}

const topicLaws = (fixture: BusFixture): void => {
  const law = busLawsOf(fixture)

  law("a process has several subscriptions, each of its own topic", (steps) =>
    Effect.gen(function* () {
      const other = { group: groups[1], topic: otherTopic }
      const [one, two] = [new Listener(), new Listener(undefined, ["Elsewhere", takenType], other)]
      yield* steps.bus.subscribe(one.subscription)
      yield* steps.bus.subscribe(two.subscription)
      const [here, there] = [sampleMessage(), sampleMessage({ type: "Elsewhere" })]
      yield* steps.send(here, there)
      yield* steps.until("both are asked", () => one.askedTimes(1) && two.askedTimes(1))
      yield* steps.untilAllAcknowledged
      expect(one.askedIds).toEqual([here.id])
      expect(two.askedIds).toEqual([there.id])
    }),
  )

  law("a group belongs to one of them", (steps) =>
    Effect.gen(function* () {
      yield* steps.bus.subscribe(new Listener().subscription)
      const elsewhere = new Listener(undefined, [takenType], { topic: otherTopic })
      const refused = yield* Effect.flip(steps.bus.subscribe(elsewhere.subscription))
      expect(refused.message).toContain(groups[0])
    }),
  )
}
