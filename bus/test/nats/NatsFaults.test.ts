// The laws of the bus when the broker, the network or the handler fails.
import { expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Exit, Scope } from "effect"
import type { Bus } from "../../src/Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../../src/Envelope.ts"
import type { NatsOptions } from "../../src/nats/NatsBus.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { Listener, sampleMessage } from "../../testkit/BusFixture.ts"
import {
  acknowledgementLost,
  awayAndBack,
  brokerKilledTwice,
  delayAtBroker,
  faultIntake as intake,
  keptForLater,
  lagOfTwoNodes,
  lateIntake,
  manyKeys,
  publishUntilTaken,
  slowNetwork,
  until,
  untilNothingIsLeft,
} from "../../testkit/busFaults.ts"
import { poisonRun } from "../../testkit/MortalMember.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

describeNats("when things fail", () => {
  const rig = rigOfFile(() => NatsRig.start())

  const withBus = (
    body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
    overrides: Partial<NatsOptions> = {},
  ): Promise<void> => withBusOf(rig().bus({ intake, ...overrides }), body)

  const consumerInfo = () => rig().manager.consumers.info("svc", "first")

  /**
   * Only newer servers answer a pull that comes after its consumer was removed. At older ones, missing heartbeats
   * reveal it.
   */
  const untilPullsWait = Effect.promise(() =>
    eventually("pulls wait at the broker", async () =>
      (await consumerInfo()).num_waiting > 0 ? true : undefined,
    ),
  )

  test("a broker that is killed twice loses nothing that it took, and each key keeps its order", () =>
    brokerKilledTwice(rig(), { connections: 1 }))

  test("while the broker is away a publish fails in bounded time and a start waits, and both go through when it is back", () =>
    awayAndBack(rig(), { waitsWithinStart: true }))

  test("a slow network delays messages and does nothing else", () => slowNetwork(rig()))

  test("a message whose acknowledgement is lost comes again", () => acknowledgementLost(rig(), intake))

  test("a message for which nobody has subscribed yet is kept for every group that subscribes", () =>
    keptForLater(rig()))

  test("the lag counts each message that is not done, also those of other nodes", () =>
    lagOfTwoNodes(rig(), { counts: "all", heldAtMost: 25 }))

  test("the broker keeps the delay: another subscription gets the message when it is over", () =>
    delayAtBroker(rig(), () => Promise.resolve()))

  test("a message that kills every process becomes undeliverable after five deliveries, and each counts for the messages beside it", () =>
    // The broker counts well only if a member listens when its wait is over.
    poisonRun({ broker: "nats", options: rig().options({ intake }) }, { beside: "counts", members: 6 }))

  test("a publish whose answer is lost may be repeated, and is stored once", async () => {
    await using proxied = await rig().proxied()
    const { network } = proxied
    await withBusOf(proxied.bus({ intake, publishTimeoutMs: 200 }), (bus) =>
      Effect.gen(function* () {
        network.blackholeFromServer()
        const message = sampleMessage()
        const failure = yield* Effect.flip(bus.publish([message]))
        expect(failure.message).toContain("no answer within 200 ms")
        network.heal()
        expect(yield* bus.publish([message])).toEqual([{ isDuplicate: true }])
      }),
    )
  })

  test("a message that the broker cannot accept is refused for good; a missing stream is not permanent", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const large = sampleMessage({ payloadJson: JSON.stringify("x".repeat(1_100_000)) })
        const refusal = yield* Effect.flip(bus.publish([sampleMessage(), large]))
        expect(refusal.isPermanent).toBe(true)
        expect(refusal.message).toContain("max_payload 1048576")
        // Nothing is sent of a call that cannot succeed.
        const { state } = yield* Effect.promise(() => rig().manager.streams.info("svc"))
        expect(state.messages).toBe(0)
        yield* Effect.promise(() => rig().manager.streams.delete("svc"))
        const missing = yield* Effect.flip(bus.publish([sampleMessage()]))
        expect(missing.isPermanent).toBe(false)
        expect(missing.message).toContain("no stream")
      }),
    ))

  test("a stream or consumer that is removed is made again, and messages flow", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        yield* untilPullsWait
        yield* Effect.promise(() => rig().manager.consumers.delete("svc", "first"))
        yield* publishUntilTaken(bus, [sampleMessage()], () => {})
        yield* until("the message is handled", () => listener.asked.length === 1)
        yield* untilPullsWait
        yield* Effect.promise(() => rig().manager.streams.delete("svc"))
        yield* publishUntilTaken(bus, [sampleMessage()], () => {})
        yield* until("the next is handled, too", () => listener.asked.length === 2)
      }),
    ))

  test("deliveries that vanish on their way use pulls up; that is noticed, and messages flow again", async () => {
    await using proxied = await rig().proxied()
    const { network } = proxied
    await withBusOf(proxied.bus({ intake: { ...intake, heldAtMost: 4 } }), (bus) =>
      Effect.gen(function* () {
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        const waiting = async () => (await consumerInfo()).num_waiting
        const untilWaiting = (count: number) =>
          Effect.promise(() =>
            eventually(`${count} pulls wait`, async () => ((await waiting()) === count ? true : undefined)),
          )
        yield* untilWaiting(4)
        network.blackholeFromServer()
        const publish = (envelope: OutgoingEnvelope) =>
          rig().manager.jetstream().publish("svc.acme.samples", encodeEnvelope(envelope))
        const lost = Array.from({ length: 4 }, (_, index) => sampleMessage({ key: `call-${index}` }))
        yield* Effect.promise(() => Promise.all(lost.map(publish)))
        yield* untilWaiting(0)
        network.heal()
        yield* Effect.promise(() => publish(sampleMessage({ key: "call-5" })))
        yield* until("all five are handled", () => listener.asked.length === 5)
        yield* untilNothingIsLeft(bus)
      }),
    )
  })

  test("a message that is held and not answered comes again after the ack wait, and not before", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* bus.subscribe(new Listener().subscription).pipe(Scope.provide(scope))
        yield* Scope.close(scope, Exit.void)
        yield* bus.publish([sampleMessage()])
        const fetchOne = async () => {
          const consumer = await rig().manager.jetstream().consumers.get("svc", "first")
          for await (const message of await consumer.fetch({ max_messages: 1, expires: 10_000 })) {
            return message.info.deliveryCount
          }
          return undefined
        }
        const startedAt = performance.now()
        expect(yield* Effect.promise(fetchOne)).toBe(1)
        expect(yield* Effect.promise(fetchOne)).toBe(2)
        expect(performance.now() - startedAt).toBeGreaterThanOrEqual(intake.ackWaitMs)
      }),
    ))

  test("50 tenants with 100 keys each: commands of a key are handled in order, one at a time", () =>
    withBus(manyKeys, { intake: lateIntake }))

  test("messages come at the pace of the handlers, and no more than are held", () =>
    withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener(() => Effect.never)
          yield* bus.publish(
            Array.from({ length: 50 }, (_, index) => sampleMessage({ key: `call-${index}` })),
          )
          yield* bus.subscribe(listener.subscription)
          yield* until("the handlers are busy", () => listener.asked.length === 4)
          yield* Effect.promise(() =>
            eventually("all the room is taken", async () =>
              (await consumerInfo()).num_ack_pending === 8 ? true : undefined,
            ),
          )
          expect(listener.events("received")).toBe(8)
        }),
      { intake: { ...intake, ackWaitMs: 20_000, heldAtMost: 8, handlersAtMost: 4, closeWithinMs: 0 } },
    ))
})
