// The laws of the bus when the broker, the network or the handler fails.
import { expect, test } from "bun:test"
import { Context, Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { murmur2 } from "../../../drivers/kafka/kafka.ts"
import { Bus } from "../../src/Bus.ts"
import type { KafkaOptions } from "../../src/kafka/KafkaBus.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { groups, Listener, sampleMessage } from "../../testkit/BusFixture.ts"
import {
  awayAndBack,
  brokerKilledTwice,
  faultIntake,
  handlerFails,
  indexOf,
  KeyOrder,
  keptForLater,
  lagOfTwoNodes,
  lateIntake,
  manyKeys,
  publishRounds,
  slowNetwork,
  slowRetries,
  twoRestartsWithinMs,
  until,
  untilNothingIsLeft,
} from "../../testkit/busFaults.ts"
import { KafkaRig } from "../../testkit/KafkaRig.ts"
import { describeKafka } from "../../testkit/KafkaServer.ts"
import { poisonRun, takeoverRun } from "../../testkit/MortalMember.ts"

/** How soon the broker notices that a process is gone. */
const sessionTimeoutMs = 2_000

describeKafka("when things fail", () => {
  const rig = rigOfFile(() => KafkaRig.start())

  const withBus = (
    body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
    overrides: Partial<KafkaOptions> = {},
  ): Promise<void> => withBusOf(rig().bus({ intake: faultIntake, ...overrides }), body)

  test(
    "a broker that is killed twice loses nothing that it took, and each key keeps its order",
    () => brokerKilledTwice(rig(), { connections: 1 }),
    twoRestartsWithinMs,
  )

  test("while the broker is away a publish fails in bounded time and a start waits, and both go through when it is back. A retry survives, and blocks no other key", () => {
    const [stuck, follower, other] = [sampleMessage(), sampleMessage(), sampleMessage({ key: "call-2" })]
    const listener = new Listener(
      ({ envelope, delivery }) => (envelope.id === stuck.id && delivery < 3 ? handlerFails : Effect.void),
      undefined,
      { group: groups[1] },
    )
    return awayAndBack(rig(), {
      waitsWithinStart: false,
      around: {
        before: (bus) =>
          Effect.gen(function* () {
            yield* bus.subscribe(listener.subscription)
            yield* bus.publish([stuck, follower, other])
            yield* until("the first has failed, and the other key is done", () =>
              [other, stuck].every(({ id }) => listener.askedIds.includes(id)),
            )
          }),
        after: () =>
          Effect.gen(function* () {
            yield* until("all are handled", () => listener.askedIds.includes(follower.id))
            const ofKey = listener.askedIds.filter((id) => id !== other.id)
            expect(ofKey.at(-1)).toBe(follower.id)
            expect(ofKey.filter((id) => id === stuck.id).length).toBeGreaterThanOrEqual(3)
          }),
      },
    })
  })

  test("a slow network delays messages and does nothing else", () => slowNetwork(rig()))

  test("a message for which nobody has subscribed yet is kept for every group that subscribes", () =>
    keptForLater(rig()))

  test("the lag counts each message that is not done, also those of other nodes", () =>
    lagOfTwoNodes(rig(), { counts: "all", heldAtMost: 1_000 }))

  test("a publish whose answer is lost is sent again by itself, and stored once", async () => {
    await using proxy = await rig().server.proxy()
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.publish([sampleMessage()])
          proxy.blackholeFromServer()
          const message = sampleMessage()
          const publishing = yield* Effect.forkScoped(bus.publish([message]), { startImmediately: true })
          yield* until("the answer is lost", () => proxy.droppedBytes > 0)
          proxy.heal()
          proxy.cut()
          proxy.heal()
          yield* until("the publish ends", () => publishing.pollUnsafe() !== undefined)
          expect(publishing.pollUnsafe()).toEqual(Exit.succeed([{ isDuplicate: false }]))
          yield* bus.subscribe(listener.subscription)
          yield* until("both are handled", () => listener.asked.length >= 2)
          yield* untilNothingIsLeft(bus)
          expect(listener.asked.length).toBe(2)
        }),
      { servers: [proxy.address], partitions: 1 },
    )
  })

  test("a message whose commit is lost comes again", async () => {
    await using proxy = await rig().server.proxy()
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener(() =>
            Effect.sync(() => {
              if (listener.asked.length === 1) proxy.cut()
            }),
          )
          const scope = yield* Scope.make()
          yield* bus.subscribe(listener.subscription).pipe(Scope.provide(scope))
          yield* bus.publish([sampleMessage()])
          yield* until("it is handled", () => listener.asked.length === 1)
          // The member ends without a commit.
          yield* Scope.close(scope, Exit.void)
          proxy.heal()
          yield* bus.subscribe(listener.subscription)
          yield* until("it is handled again", () => listener.asked.length === 2)
          yield* untilNothingIsLeft(bus)
        }),
      { servers: [proxy.address], sessionTimeoutMs: 2_000 },
    )
  })

  test("a member does not wait for one that the broker still counts on, although it is gone", async () => {
    await using proxied = await rig().proxied()
    const silent = { intake: lateIntake, sessionTimeoutMs: 300_000 }
    await withBusOf(rig().bus({ ...silent, servers: [proxied.network.address] }), (gone) =>
      Effect.gen(function* () {
        yield* gone.subscribe(new Listener().subscription)
        proxied.network.cut()
        const next = Context.get(yield* Layer.build(rig().bus(silent)), Bus)
        const subscribing = yield* Effect.forkScoped(next.subscribe(new Listener().subscription))
        yield* until("the next one has subscribed", () => subscribing.pollUnsafe() !== undefined)
        yield* Fiber.join(subscribing)
      }),
    )
  })

  test("a message that the broker cannot accept is refused for good, and nothing of its call is sent", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const large = sampleMessage({ payloadJson: JSON.stringify("x".repeat(1_100_000)) })
        const refusal = yield* Effect.flip(bus.publish([sampleMessage(), large]))
        expect(refusal.isPermanent).toBe(true)
        expect(refusal.message).toContain("max.message.bytes 1048588")
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        yield* bus.publish([sampleMessage()])
        yield* until("one is handled", () => listener.asked.length > 0)
        yield* untilNothingIsLeft(bus)
        expect(listener.asked.length).toBe(1)
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
          yield* until("all the room is taken", () => listener.events("received") === 8)
          // The broker answers this after every fetch that came before.
          expect((yield* bus.sample(groups[0])).lag).toBe(50)
          expect(listener.events("received")).toBe(8)
        }),
      { intake: { ...faultIntake, ackWaitMs: 20_000, heldAtMost: 8, handlersAtMost: 4, closeWithinMs: 0 } },
    ))

  test(
    "a message that kills every process becomes undeliverable after five deliveries, and takes no other message with it",
    () =>
      poisonRun(
        {
          broker: "kafka",
          options: rig().options({ intake: faultIntake, sessionTimeoutMs, partitions: 2 }),
        },
        { beside: "isSpared", members: 1 },
      ),
    180_000,
  )

  test(
    "a member that stands by takes the partitions of a killed one over, and each key keeps its order",
    () => takeoverRun({ broker: "kafka", options: rig().options({ intake: lateIntake, sessionTimeoutMs }) }),
    180_000,
  )

  describeRetries()

  function describeRetries(): void {
    test("a retry and the messages behind it survive a restart of the member, in order", () =>
      withBus(
        (bus) =>
          Effect.gen(function* () {
            const messages = Array.from({ length: 4 }, () => sampleMessage())
            const [poison] = messages
            const failingListener = new Listener(() => handlerFails)
            const first = yield* Scope.make()
            yield* bus.subscribe(failingListener.subscription).pipe(Scope.provide(first))
            yield* bus.publish(messages.slice(0, 2))
            yield* until("the first has failed", () => failingListener.asked.length === 1)
            yield* Scope.close(first, Exit.void)
            yield* bus.publish(messages.slice(2))
            const next = new Listener()
            yield* bus.subscribe(next.subscription)
            yield* until("all are handled", () => next.asked.length >= messages.length)
            yield* untilNothingIsLeft(bus)
            expect(next.askedIds).toEqual(messages.map(({ id }): string => id))
            expect(next.asked[0]).toMatchObject({ delivery: 2, envelope: { id: poison?.id } })
            expect(next.deliveries).toEqual([2, 1, 1, 1])
            const waitedMs = (next.asked[0]?.atMs ?? 0) - (failingListener.asked[0]?.atMs ?? 0)
            expect(waitedMs).toBeGreaterThanOrEqual(490)
          }),
        { intake: slowRetries },
      ))

    test("members that come and go while messages fail lose nothing, and each key keeps its order", () =>
      withBus(
        (bus) =>
          Effect.gen(function* () {
            const [keys, perKey] = [40, 25]
            const order = new KeyOrder()
            const running = new Set<string>()
            let calls = 0
            const member = () =>
              new Listener(({ envelope, delivery }) =>
                Effect.gen(function* () {
                  const { aggregateId } = envelope
                  if (running.has(aggregateId)) order.wrong.push(`${aggregateId} runs twice`)
                  running.add(aggregateId)
                  yield* Effect.yieldNow
                  running.delete(aggregateId)
                  calls++
                  // Every seventh message fails once.
                  if (delivery === 1 && indexOf(envelope) % 7 === 3) return yield* handlerFails
                  order.note(envelope)
                }),
              )
            yield* bus.subscribe(member().subscription)
            const publishing = yield* Effect.forkScoped(publishRounds(bus, keys, perKey))
            for (let round = 0; round < 2; round++) {
              const scope = yield* Scope.make()
              yield* bus.subscribe(member().subscription).pipe(Scope.provide(scope))
              const before = calls
              yield* until("both work, or all is done", () => calls > before + 50 || calls >= keys * perKey)
              yield* Scope.close(scope, Exit.void)
            }
            yield* until("all is published", () => publishing.pollUnsafe() !== undefined)
            yield* until("all is handled", () => order.isDone(keys, perKey))
            yield* untilNothingIsLeft(bus)
            expect(order.wrong).toEqual([])
          }),
        { intake: { ...faultIntake, ackWaitMs: 10_000, retryDelaysMs: [100, 100, 100, 100] } },
      ))

    test("while a member gives partitions up, its other partitions go on", () =>
      withBus(
        (bus) =>
          Effect.gen(function* () {
            const keyIn = (partition: number) => {
              for (let number = 0; ; number++) {
                const key = `call-${number}`
                if ((murmur2(Buffer.from(`acme.${key}`)) & 0x7fff_ffff) % 4 === partition) return key
              }
            }
            // The first member keeps the first half of the four partitions.
            const moving = sampleMessage({ key: keyIn(3) })
            const gate = Latch.makeUnsafe(false)
            const one = new Listener(({ envelope }) => (envelope.id === moving.id ? gate.await : Effect.void))
            const two = new Listener()
            yield* bus.subscribe(one.subscription)
            yield* bus.publish([moving])
            yield* until("its handler runs", () => one.asked.length === 1)
            const joining = yield* Effect.forkScoped(bus.subscribe(two.subscription))
            yield* Effect.promise(() => rig().untilAssignedAgain())
            for (let round = 1; round <= 10; round++) {
              yield* bus.publish([sampleMessage({ key: keyIn(0) })])
              yield* until("the other partition goes on", () => one.events("processed") === round)
            }
            gate.openUnsafe()
            yield* Fiber.join(joining)
            const after = sampleMessage({ key: keyIn(3) })
            yield* bus.publish([after])
            yield* until("the new member has the partition", () => two.askedIds.includes(after.id))
            yield* untilNothingIsLeft(bus)
            expect(two.askedIds).toEqual([after.id])
            expect(one.askedIds.filter((id) => id === moving.id)).toHaveLength(1)
          }),
        { intake: { ...faultIntake, ackWaitMs: 60_000, closeWithinMs: 30_000 } },
      ))
  }
})
