// The laws of the bus when the broker, the network or the handler fails.
import { expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Exit, Scope } from "effect"
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { Bus } from "../../src/Bus.ts"
import type { IntakeOptions } from "../../src/IntakeOptions.ts"
import type { RabbitOptions } from "../../src/rabbitmq/RabbitBus.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { groups, type Handle, Listener, quickIntake, sampleMessage } from "../../testkit/BusFixture.ts"
import {
  acknowledgementLost,
  awayAndBack,
  brokerKilledTwice,
  delayAtBroker,
  KeyOrder,
  lagOfTwoNodes,
  lateIntake,
  manyKeys,
  publishRounds,
  publishUntilTaken,
  slowNetwork,
  twoRestartsWithinMs,
  until,
  untilNothingIsLeft,
} from "../../testkit/busFaults.ts"
import { poisonRun, takeoverRun } from "../../testkit/MortalMember.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitRig } from "../../testkit/RabbitRig.ts"

const intake: IntakeOptions = { ...quickIntake, ackWaitMs: 5_000, heldAtMost: 1_000, handlersAtMost: 256 }

describeRabbit("when things fail", () => {
  const rig = rigOfFile(() => RabbitRig.start())

  const withBus = (
    body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
    overrides: Partial<RabbitOptions> = {},
  ): Promise<void> => withBusOf(rig().bus({ intake, ...overrides }), body)

  test(
    "a broker that is killed twice loses nothing that it took, and each key keeps its order",
    () => brokerKilledTwice(rig(), { connections: 2, intake }),
    twoRestartsWithinMs,
  )

  test("while the broker is away a publish fails in bounded time and a start waits, and both go through when it is back. Every key keeps its queue", async () => {
    const elsewhere = `${rig().prefix}-hash`
    const queues = Array.from({ length: 8 }, (_, number) => `${elsewhere}:first:${number}`)
    // This subscription creates queues. It ends before messages come to them.
    const layer = rig().bus({ prefix: elsewhere, queues: queues.length })
    await withBusOf(layer, (bus) => bus.subscribe(new Listener().subscription))
    const before = await queuesOfKeys(elsewhere, queues)
    expect(new Set(before.values()).size).toBe(queues.length)
    await awayAndBack(rig(), {
      waitsWithinStart: true,
      around: {
        before: () => Effect.promise(() => rig().server.untilSaved(queues)),
        after: () =>
          Effect.promise(async () => expect(await queuesOfKeys(elsewhere, queues)).toEqual(before)),
      },
    })
  })

  test("a slow network delays messages and does nothing else", () => slowNetwork(rig()))

  test("a message whose acknowledgement is lost comes again", () => acknowledgementLost(rig(), intake))

  test("the lag counts the messages in the queues and those of this node, not those of other nodes", () =>
    lagOfTwoNodes(rig(), { counts: "own", heldAtMost: 1_000 }))

  test("a message for which nobody has subscribed yet is refused, and a later group gets only what comes after it", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(bus.publish([sampleMessage()]))
        expect(refused).toMatchObject({ isPermanent: false })
        expect(refused.message).toContain("no group has a queue")
        const listeners = groups.map((group) => new Listener(undefined, undefined, { group }))
        const [first = new Listener(), second = new Listener()] = listeners
        const [early, late] = [sampleMessage(), sampleMessage()]
        yield* bus.subscribe(first.subscription)
        yield* bus.publish([early])
        yield* bus.subscribe(second.subscription)
        yield* bus.publish([late])
        yield* until("both groups get the later one", () =>
          listeners.every(({ askedIds }) => askedIds.includes(late.id)),
        )
        expect(first.askedIds).toEqual([early.id, late.id])
        expect(second.askedIds).toEqual([late.id])
      }),
    ))

  /** Sends a message for each of 100 keys, and takes all out of the queues again. */
  const queuesOfKeys = async (
    prefix: string,
    queues: ReadonlyArray<string>,
  ): Promise<ReadonlyMap<string, string>> => {
    const exchange = `${prefix}.samples`
    for (let key = 0; key < 100; key++) await rig().inject(exchange, `acme.call-${key}`, new Uint8Array())
    return rig().withChannel(async (channel) => {
      const found = new Map<string, string>()
      for (const queue of queues) {
        const take = (message: ConsumeMessage | null) =>
          message && found.set(message.fields.routingKey, queue)
        await channel.consume(queue, take, { noAck: true })
      }
      await eventually("every message is found", () => (found.size === 100 ? true : undefined))
      return found
    })
  }

  test("a publish whose answer is lost may be repeated, and then comes twice", async () => {
    await using proxied = await rig().proxied()
    const { network } = proxied
    await withBusOf(proxied.bus({ intake, publishTimeoutMs: 300 }), (bus) =>
      Effect.gen(function* () {
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        const message = sampleMessage()
        yield* bus.publish([sampleMessage({ key: "warm" })])
        yield* until("the first is handled", () => listener.asked.length === 1)
        network.blackholeFromServer()
        const failure = yield* Effect.flip(bus.publish([message]))
        expect(failure.message).toContain("no answer within 300 ms")
        network.cut()
        network.heal()
        yield* publishUntilTaken(bus, [message], () => {})
        const handled = () => listener.askedIds.filter((id) => id === message.id).length
        yield* until("both are handled", () => handled() === 2)
        yield* untilNothingIsLeft(bus)
      }),
    )
  })

  test("a message that is too large is refused for good", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        yield* bus.subscribe(new Listener().subscription)
        yield* bus.publish([sampleMessage()])
        const large = sampleMessage({ payloadJson: JSON.stringify("x".repeat(17_000_000)) })
        const refusal = yield* Effect.flip(bus.publish([sampleMessage(), large]))
        expect(refusal.isPermanent).toBe(true)
        expect(refusal.message).toContain("At most 16777216 are possible")
        yield* untilNothingIsLeft(bus)
      }),
    ))

  for (const [what, remove] of [
    ["queue", (channel: Channel) => channel.deleteQueue(`${rig().prefix}:first:0`)],
    ["exchange of the topic", (channel: Channel) => channel.deleteExchange(`${rig().prefix}.samples`)],
    ["exchange of the group", (channel: Channel) => channel.deleteExchange(`${rig().prefix}:first`)],
  ] as const) {
    test(`a removed ${what} is made again, and messages flow`, () =>
      withBus((bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          yield* Effect.promise(() => rig().withChannel<unknown>(remove))
          // Messages between the removal and the repair may be lost, as the broker drops them with the queue.
          for (let isWhole = false; !isWhole; ) {
            const some = Array.from({ length: 32 }, (_, key) => sampleMessage({ key: `call-${key}` }))
            yield* publishUntilTaken(bus, some, () => {})
            yield* untilNothingIsLeft(bus)
            isWhole = some.every(({ id }) => listener.askedIds.includes(id))
          }
        }),
      ))
  }

  test("the broker keeps the delay: another subscription gets the message when it is over", () =>
    delayAtBroker(rig(), () =>
      eventually("it waits for its retry", async () =>
        (await rig().ready(`${rig().prefix}:first:retry:700`)) === 1 ? true : undefined,
      ),
    ))

  test("50 tenants with 100 keys each: commands of a key are handled in order, one at a time", () =>
    withBus(manyKeys, { intake: lateIntake }))

  test(
    "a message that kills every process becomes undeliverable after five deliveries, and each counts for the messages beside it",
    () =>
      poisonRun({ broker: "rabbitmq", options: rig().options({ intake }) }, { beside: "counts", members: 1 }),
    180_000,
  )

  test(
    "a consumer that stands by takes the queues of a killed one over, and each key keeps its order",
    () => takeoverRun({ broker: "rabbitmq", options: rig().options({ intake: lateIntake }) }),
    180_000,
  )

  test("the queues move between members while messages flow, and each key keeps its order", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const [keys, perKey] = [40, 60]
        const order = new KeyOrder()
        const handle: Handle = ({ envelope }) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => order.note(envelope)),
          )
        const [one, two, three] = [new Listener(handle), new Listener(handle), new Listener(handle)]
        yield* bus.subscribe(one.subscription)
        const publishing = yield* Effect.forkScoped(publishRounds(bus, keys, perKey))
        yield* until("some are handled", () => one.asked.length > 50)
        const scope = yield* Scope.make()
        yield* bus.subscribe(two.subscription).pipe(Scope.provide(scope))
        yield* bus.subscribe(three.subscription)
        yield* until("the second gets some", () => two.asked.length > 0)
        yield* Scope.close(scope, Exit.void)
        yield* until("all is published", () => publishing.pollUnsafe() !== undefined)
        yield* until("all are handled", () => order.isDone(keys, perKey))
        expect(order.wrong).toEqual([])
        yield* untilNothingIsLeft(bus)
      }),
    ))

  test("messages come at the pace of the handlers, and no more than are held", () =>
    withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener(() => Effect.never)
          yield* bus.subscribe(listener.subscription)
          yield* bus.publish(
            Array.from({ length: 200 }, (_, index) => sampleMessage({ key: `call-${index}` })),
          )
          yield* until("the handlers are busy", () => listener.asked.length === 4)
          // The prefetch of a queue is 4 here, and the rest waits at the broker.
          yield* Effect.promise(() =>
            eventually("the rest waits at the broker", async () => {
              let ready = 0
              for (let queue = 0; queue < 4; queue++)
                ready += await rig().ready(`${rig().prefix}:first:${queue}`)
              return ready === 200 - 4 * 4 ? true : undefined
            }),
          )
          expect(listener.events("received")).toBe(8)
          expect((yield* bus.sample(groups[0])).lag).toBe(200)
        }),
      { intake: { ...intake, ackWaitMs: 20_000, heldAtMost: 8, handlersAtMost: 4, closeWithinMs: 0 } },
    ))
})
