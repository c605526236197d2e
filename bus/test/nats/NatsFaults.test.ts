// The laws of the bus when the broker, the network or the handler fails.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { TcpProxy } from "@punctual/server/testkit/TcpProxy"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { Bus, MessageFailed } from "../../src/Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../../src/Envelope.ts"
import type { NatsOptions } from "../../src/nats/NatsBus.ts"
import { groups, Listener, sampleMessage } from "../../testkit/BusFixture.ts"
import {
  faultIntake as intake,
  killedTwice,
  manyKeys,
  publishUntilTaken,
  until,
} from "../../testkit/busFaults.ts"
import { keptLogs } from "../../testkit/keptLogs.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

describeNats("when things fail", () => {
  let rig: NatsRig
  beforeAll(async () => {
    rig = await NatsRig.start()
  })
  beforeEach(() => rig.renew())
  afterAll(() => rig[Symbol.asyncDispose]())

  /** Runs with a bus on the broker, with the broker's current state. */
  const withBus = (
    body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>,
    overrides: Partial<NatsOptions> = {},
    logs: Layer.Layer<never> = Logger.layer([]),
  ): Promise<void> =>
    Effect.runPromise(
      Effect.flatMap(Bus, body).pipe(
        Effect.scoped,
        Effect.provide(rig.bus({ intake, ...overrides })),
        Effect.provide(logs),
      ),
    )

  const consumerInfo = () => rig.manager.consumers.info("svc", "first")

  const untilNothingIsLeft = Effect.promise(() =>
    eventually("the broker has nothing left", async () => {
      const { num_pending, num_ack_pending } = await consumerInfo()
      return num_pending + num_ack_pending === 0 ? true : undefined
    }),
  )

  /**
   * Only newer servers answer a pull that comes after its consumer was removed. At older ones, missing heartbeats
   * reveal it.
   */
  const untilPullsWait = Effect.promise(() =>
    eventually("pulls wait at the broker", async () =>
      (await consumerInfo()).num_waiting > 0 ? true : undefined,
    ),
  )

  test("a broker that is killed twice loses nothing that it took, and each key keeps its order", async () => {
    const logs = keptLogs()
    const body = (bus: Bus["Service"]) => killedTwice(bus, rig.server, untilNothingIsLeft)
    await withBus(body, { publishTimeoutMs: 1_000 }, logs.layer)
    expect(logs.lines.filter((line) => line.includes("is lost"))).toHaveLength(2)
    expect(logs.lines.filter((line) => line.includes("again"))).toHaveLength(2)
    // The subscription pulled again at once, without waiting for a missing heartbeat.
    expect(logs.lines.filter((line) => line.includes("no heartbeat"))).toEqual([])
  })

  test("a publish fails in bounded time while the broker is away, and goes through when it is back", () =>
    withBus(
      (bus) =>
        Effect.gen(function* () {
          yield* Effect.promise(() => rig.server.kill9())
          const message = sampleMessage()
          const failure = yield* Effect.flip(bus.publish([message]))
          expect(failure.isPermanent).toBe(false)
          expect((yield* bus.sample(groups[0])).isConnected).toBe(false)
          yield* Effect.promise(() => rig.server.restart())
          yield* publishUntilTaken(bus, [message], () => {})
          // Requests of the rig's own client are lost until it is connected again.
          yield* Effect.promise(() =>
            eventually("the rig is connected again", () =>
              rig.client.rtt().then(
                () => true,
                () => undefined,
              ),
            ),
          )
          const { state } = yield* Effect.promise(() => rig.manager.streams.info("svc"))
          expect(state.messages).toBe(1)
          expect(yield* bus.sample(groups[0])).toEqual({ isConnected: true, lag: 0 })
        }),
      { publishTimeoutMs: 300 },
    ))

  test("a publish whose answer is lost may be repeated, and is stored once", async () => {
    await using proxy = await TcpProxy.before(rig.server)
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          proxy.blackholeFromServer()
          const message = sampleMessage()
          const failure = yield* Effect.flip(bus.publish([message]))
          expect(failure.message).toContain("no answer within 200 ms")
          proxy.heal()
          expect(yield* bus.publish([message])).toEqual([{ isDuplicate: true }])
        }),
      { servers: [proxy.address], publishTimeoutMs: 200 },
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
        const { state } = yield* Effect.promise(() => rig.manager.streams.info("svc"))
        expect(state.messages).toBe(0)
        yield* Effect.promise(() => rig.manager.streams.delete("svc"))
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
        yield* Effect.promise(() => rig.manager.consumers.delete("svc", "first"))
        yield* publishUntilTaken(bus, [sampleMessage()], () => {})
        yield* until("the message is handled", () => listener.asked.length === 1)
        yield* untilPullsWait
        yield* Effect.promise(() => rig.manager.streams.delete("svc"))
        yield* publishUntilTaken(bus, [sampleMessage()], () => {})
        yield* until("the next is handled, too", () => listener.asked.length === 2)
      }),
    ))

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
          yield* untilNothingIsLeft
          expect(listener.deliveries).toEqual([1, 2])
        }),
      { servers: [proxy.address] },
    )
  })

  test("deliveries that vanish on their way use pulls up; that is noticed, and messages flow again", async () => {
    await using proxy = await TcpProxy.before(rig.server)
    await withBus(
      (bus) =>
        Effect.gen(function* () {
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          const waiting = async () => (await consumerInfo()).num_waiting
          const untilWaiting = (count: number) =>
            Effect.promise(() =>
              eventually(`${count} pulls wait`, async () => ((await waiting()) === count ? true : undefined)),
            )
          yield* untilWaiting(4)
          proxy.blackholeFromServer()
          const publish = (envelope: OutgoingEnvelope) =>
            rig.manager.jetstream().publish("svc.acme.samples", encodeEnvelope(envelope))
          const lost = Array.from({ length: 4 }, (_, index) => sampleMessage({ key: `call-${index}` }))
          yield* Effect.promise(() => Promise.all(lost.map(publish)))
          yield* untilWaiting(0)
          proxy.heal()
          yield* Effect.promise(() => publish(sampleMessage({ key: "call-5" })))
          yield* until("all five are handled", () => listener.asked.length === 5)
          yield* untilNothingIsLeft
        }),
      { servers: [proxy.address], intake: { ...intake, heldAtMost: 4 } },
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
          yield* untilNothingIsLeft
          expect(listener.askedIds).toEqual(messages.map(({ id }): string => id))
          expect(new Set(listener.deliveries)).toEqual(new Set([1]))
        }),
      { servers: [proxy.address] },
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
          yield* Scope.close(first, Exit.void)
          expect((yield* Effect.promise(consumerInfo)).num_ack_pending).toBe(1)
          const next = new Listener()
          yield* bus.subscribe(next.subscription)
          yield* until("the next gets it", () => next.asked.length === 1)
          expect(next.deliveries).toEqual([2])
          expect((next.asked[0]?.atMs ?? 0) - (failing.asked[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(delayMs)
          yield* untilNothingIsLeft
        }),
      { intake: { ...intake, ackWaitMs: 10_000, retryDelaysMs: [700, 700, 700, 700] } },
    ))

  test("a message that is held and not answered comes again after the ack wait, and not before", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* bus.subscribe(new Listener().subscription).pipe(Scope.provide(scope))
        yield* Scope.close(scope, Exit.void)
        yield* bus.publish([sampleMessage()])
        const fetchOne = async () => {
          const consumer = await rig.manager.jetstream().consumers.get("svc", "first")
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
    withBus((bus) => Effect.andThen(manyKeys(bus), untilNothingIsLeft), {
      // On a busy machine a handler must not come too late.
      intake: { ...intake, ackWaitMs: 20_000 },
    }))

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

  test("a start waits for a broker that comes up late", async () => {
    await rig.server.kill9()
    const building = Effect.runPromise(
      Effect.scoped(Layer.build(rig.bus())).pipe(Effect.asVoid, Effect.provide(Logger.layer([]))),
    )
    await rig.server.restart()
    await building
  })
})
