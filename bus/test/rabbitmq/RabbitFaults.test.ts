// The laws of the bus when the broker, the network or the handler fails.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { TcpProxy } from "@punctual/server/testkit/TcpProxy"
import { Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { Bus, MessageFailed } from "../../src/Bus.ts"
import type { IntakeOptions } from "../../src/IntakeOptions.ts"
import type { RabbitOptions } from "../../src/rabbitmq/RabbitBus.ts"
import { groups, type Handle, Listener, quickIntake, sampleMessage } from "../../testkit/BusFixture.ts"
import {
  killedTwice,
  manyKeys,
  publishUntilTaken,
  twoRestartsWithinMs,
  until,
  untilNothingIsLeft,
} from "../../testkit/busFaults.ts"
import { keptLogs } from "../../testkit/keptLogs.ts"
import { poisonRun } from "../../testkit/MortalMember.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitRig } from "../../testkit/RabbitRig.ts"

const intake: IntakeOptions = { ...quickIntake, ackWaitMs: 5_000, heldAtMost: 1_000, handlersAtMost: 256 }

describeRabbit("when things fail", () => {
  let rig: RabbitRig
  beforeAll(async () => {
    rig = await RabbitRig.start()
  })
  beforeEach(() => rig.renew())
  afterAll(() => rig[Symbol.asyncDispose]())

  /** Runs with a bus on the broker, with the broker's current state. */
  const withBus = (
    body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
    overrides: Partial<RabbitOptions> = {},
    logs: Layer.Layer<never> = Logger.layer([]),
  ): Promise<void> =>
    Effect.runPromise(
      Effect.flatMap(Bus, body).pipe(
        Effect.scoped,
        Effect.provide(rig.bus({ intake, ...overrides })),
        Effect.provide(logs),
      ),
    )

  const through = (proxy: TcpProxy): Partial<RabbitOptions> => ({
    hosts: [{ host: "127.0.0.1", port: proxy.port }],
  })

  test(
    "a broker that is killed twice loses nothing that it took, and each key keeps its order",
    async () => {
      const logs = keptLogs()
      const server = { kill9: () => rig.kill9(), restart: () => rig.server.restart() }
      await withBus((bus) => killedTwice(bus, server), { publishTimeoutMs: 1_000 }, logs.layer)
      // Each of the two connections, twice.
      expect(logs.lines.filter((line) => line.includes("is lost"))).toHaveLength(4)
      expect(logs.lines.filter((line) => line.includes("again"))).toHaveLength(4)
    },
    twoRestartsWithinMs,
  )

  test("every key keeps its queue when the broker is killed and starts again", async () => {
    const queues = Array.from({ length: 8 }, (_, number) => `${rig.prefix}:first:${number}`)
    // The subscription creates the queues. It ends before the messages come.
    await withBus((bus) => bus.subscribe(new Listener().subscription), { queues: queues.length })
    const before = await queuesOfKeys(queues)
    expect(new Set(before.values()).size).toBe(queues.length)
    await rig.server.kill9(queues)
    await rig.server.restart()
    expect(await queuesOfKeys(queues)).toEqual(before)
  })

  /** Sends a message for each of 100 keys, and takes all out of the queues again. */
  const queuesOfKeys = async (queues: ReadonlyArray<string>): Promise<ReadonlyMap<string, string>> => {
    const exchange = `${rig.prefix}.samples`
    for (let key = 0; key < 100; key++) await rig.inject(exchange, `acme.call-${key}`, new Uint8Array())
    return rig.withChannel(async (channel) => {
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

  test("while the broker is away a publish fails in bounded time and a start waits, and both go through when it is back", () =>
    withBus(
      (bus) =>
        Effect.gen(function* () {
          yield* bus.subscribe(new Listener().subscription)
          yield* Effect.promise(() => rig.kill9())
          const message = sampleMessage()
          const failure = yield* Effect.flip(bus.publish([message]))
          expect(failure.isPermanent).toBe(false)
          expect((yield* bus.sample(groups[0])).isConnected).toBe(false)
          const starting = yield* Effect.forkScoped(Layer.build(rig.bus({ connectTimeoutMs: 60_000 })))
          yield* Effect.promise(() => rig.server.restart())
          yield* publishUntilTaken(bus, [message], () => {})
          yield* untilNothingIsLeft(bus)
          yield* Fiber.join(starting)
        }),
      { publishTimeoutMs: 300 },
    ))

  test("a publish whose answer is lost may be repeated, and then comes twice", async () => {
    await using proxy = await TcpProxy.before(rig.server)
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          const message = sampleMessage()
          yield* bus.publish([sampleMessage({ key: "warm" })])
          yield* until("the first is handled", () => listener.asked.length === 1)
          proxy.blackholeFromServer()
          const failure = yield* Effect.flip(bus.publish([message]))
          expect(failure.message).toContain("no answer within 300 ms")
          proxy.cut()
          proxy.heal()
          yield* publishUntilTaken(bus, [message], () => {})
          const handled = () => listener.askedIds.filter((id) => id === message.id).length
          yield* until("both are handled", () => handled() === 2)
          yield* untilNothingIsLeft(bus)
        }),
      { ...through(proxy), publishTimeoutMs: 300 },
    )
  })

  test("a message that is too large is refused for good; one that nobody listens to is not", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const unheard = yield* Effect.flip(bus.publish([sampleMessage()]))
        expect(unheard.isPermanent).toBe(false)
        expect(unheard.message).toContain("no group has a queue")
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
    ["queue", (channel: Channel) => channel.deleteQueue(`${rig.prefix}:first:0`)],
    ["exchange of the topic", (channel: Channel) => channel.deleteExchange(`${rig.prefix}.samples`)],
    ["exchange of the group", (channel: Channel) => channel.deleteExchange(`${rig.prefix}:first`)],
  ] as const) {
    test(`a removed ${what} is made again, and messages flow`, () =>
      withBus((bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          yield* Effect.promise(() => rig.withChannel<unknown>(remove))
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

  test("a message whose acknowledgement is lost comes again", async () => {
    await using proxy = await TcpProxy.before(rig.server)
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener(({ delivery }) =>
            Effect.sync(() => {
              if (delivery === 1) proxy.blackholeToServer()
            }),
          )
          yield* bus.subscribe(listener.subscription)
          yield* bus.publish([sampleMessage()])
          yield* until("the acknowledgement is lost", () => proxy.droppedBytes > 0)
          proxy.cut()
          proxy.heal()
          yield* until("it is handled again", () => listener.asked.length === 2)
          yield* untilNothingIsLeft(bus)
          expect(listener.deliveries).toEqual([1, 2])
        }),
      through(proxy),
    )
  })

  test("a slow network delays messages and does nothing else", async () => {
    await using proxy = await TcpProxy.before(rig.server)
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          proxy.slow(50)
          const messages = Array.from({ length: 20 }, () => sampleMessage())
          yield* bus.publish(messages)
          yield* until("all are handled", () => listener.asked.length === 20)
          yield* untilNothingIsLeft(bus)
          expect(listener.askedIds).toEqual(messages.map(({ id }): string => id))
          expect(new Set(listener.deliveries)).toEqual(new Set([1]))
        }),
      through(proxy),
    )
  })

  test("the broker keeps the delay: another subscription gets the message when it is over", () =>
    withBus(
      (bus) =>
        Effect.gen(function* () {
          const delayMs = 700
          const failing = new Listener(() => Effect.fail(new MessageFailed({ message: "not yet" })))
          const first = yield* Scope.make()
          yield* bus.subscribe(failing.subscription).pipe(Scope.provide(first))
          yield* bus.publish([sampleMessage()])
          yield* until("it has failed", () => failing.asked.length === 1)
          yield* Effect.promise(() =>
            eventually("it waits for its retry", async () =>
              (await rig.ready(`${rig.prefix}:first:retry:700`)) === 1 ? true : undefined,
            ),
          )
          yield* Scope.close(first, Exit.void)
          const next = new Listener()
          yield* bus.subscribe(next.subscription)
          yield* until("the next gets it", () => next.asked.length === 1)
          expect(next.deliveries).toEqual([2])
          expect((next.asked[0]?.atMs ?? 0) - (failing.asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(delayMs)
          yield* untilNothingIsLeft(bus)
        }),
      { intake: { ...intake, ackWaitMs: 10_000, retryDelaysMs: [700, 700, 700, 700] } },
    ))

  test("50 tenants with 100 keys each: commands of a key are handled in order, one at a time", () =>
    withBus((bus) => Effect.andThen(manyKeys(bus), untilNothingIsLeft(bus)), {
      // On a busy machine a handler must not come too late.
      intake: { ...intake, ackWaitMs: 20_000 },
    }))

  test(
    "a message that kills every process becomes undeliverable after five deliveries",
    () => poisonRun({ broker: "rabbitmq", options: rig.options({ intake }) }, { others: "later" }),
    180_000,
  )

  test("the queues move between members while messages flow, and each key keeps its order", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const [keys, perKey] = [40, 60]
        const handled = new Map<string, Array<number>>()
        const outOfOrder: Array<string> = []
        const handle: Handle = ({ envelope: { aggregateId, payload } }) =>
          Effect.gen(function* () {
            yield* Effect.yieldNow
            const { index } = payload as { readonly index: number }
            const seen = handled.get(aggregateId) ?? []
            handled.set(aggregateId, seen)
            if (seen.includes(index)) return
            if (seen.length !== index) outOfOrder.push(`${aggregateId}: ${index} after ${seen.length}`)
            seen.push(index)
          })
        const [one, two, three] = [new Listener(handle), new Listener(handle), new Listener(handle)]
        yield* bus.subscribe(one.subscription)
        const publishing = yield* Effect.forEach(
          Array.from({ length: perKey }, (_, index) => index),
          (index) =>
            bus.publish(
              Array.from({ length: keys }, (_, key) =>
                sampleMessage({ key: `call-${key}`, payloadJson: JSON.stringify({ index }) }),
              ),
            ),
          { discard: true },
        ).pipe(Effect.forkScoped)
        yield* until("some are handled", () => one.asked.length > 50)
        const scope = yield* Scope.make()
        yield* bus.subscribe(two.subscription).pipe(Scope.provide(scope))
        yield* bus.subscribe(three.subscription)
        yield* until("the second gets some", () => two.asked.length > 0)
        yield* Scope.close(scope, Exit.void)
        yield* until("all is published", () => publishing.pollUnsafe() !== undefined)
        yield* until("all are handled", () => [...handled.values()].every((seen) => seen.length === perKey))
        expect(outOfOrder).toEqual([])
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
              for (let queue = 0; queue < 4; queue++) ready += await rig.ready(`${rig.prefix}:first:${queue}`)
              return ready === 200 - 4 * 4 ? true : undefined
            }),
          )
          expect(listener.events("received")).toBe(8)
          expect((yield* bus.sample(groups[0])).lag).toBe(200)
        }),
      { intake: { ...intake, ackWaitMs: 20_000, heldAtMost: 8, handlersAtMost: 4, closeWithinMs: 0 } },
    ))
})
