// A queue for each tenant: tenants become known by their messages, and keys keep their order meanwhile.
import { expect, test } from "bun:test"
import { tenantQueues } from "@punctual/server/testkit/effort"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Latch, Logger, type Scope } from "effect"
import { Bus } from "../../src/Bus.ts"
import { rabbitAbilities } from "../../src/rabbitmq/RabbitSubscription.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { busSuite } from "../../testkit/Bus.suite.ts"
import { type Handle, Listener, quickIntake, realTime, sampleMessage } from "../../testkit/BusFixture.ts"
import { indexOf, numberedMessage, until, untilNothingIsLeft } from "../../testkit/busFaults.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitRig } from "../../testkit/RabbitRig.ts"

const intake = { ...quickIntake, heldAtMost: 1_000, handlersAtMost: 64 }

describeRabbit("a queue for each tenant", () => {
  const rig = rigOfFile(() => RabbitRig.start())

  const withBus = (body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>): Promise<void> =>
    withBusOf(rig().bus({ intake, queues: "tenant" }), body)

  const consumersOf = (tenant: string): Promise<number> =>
    rig().withChannel((channel) =>
      channel.checkQueue(`${rig().prefix}.${tenant}.q:first`).then(
        ({ consumerCount }) => consumerCount,
        () => 0,
      ),
    )

  const untilConsumed = (tenant: string) =>
    Effect.promise(() =>
      eventually(`the queue of ${tenant} is consumed`, async () =>
        (await consumersOf(tenant)) > 0 ? true : undefined,
      ),
    )

  /** Every key of every tenant gets the same number of messages, and must get them in order. */
  const keepOrder = (tenants: number, perTenant: number) =>
    withBus((bus) =>
      Effect.gen(function* () {
        const handled = new Map<string, number>()
        const outOfOrder: Array<string> = []
        const handle: Handle = ({ envelope }) =>
          Effect.gen(function* () {
            yield* Effect.yieldNow
            const { tenantId } = envelope
            const index = indexOf(envelope)
            const next = handled.get(tenantId) ?? 0
            if (index !== next) outOfOrder.push(`${tenantId}: ${index} instead of ${next}`)
            handled.set(tenantId, index + 1)
          })
        yield* bus.subscribe(new Listener(handle).subscription)
        const names = Array.from({ length: tenants }, (_, number) => `tenant-${number}`)
        for (let index = 0; index < perTenant; index++) {
          yield* bus.publish(names.map((tenant) => numberedMessage({ tenant }, index)))
        }
        const isDone = () => names.every((tenant) => handled.get(tenant) === perTenant)
        yield* until("all are handled", isDone, 120_000)
        expect(outOfOrder).toEqual([])
        for (const tenant of names) yield* untilConsumed(tenant)
        yield* untilNothingIsLeft(bus)
      }),
    )

  test(
    "many tenants, each with its queue, and each key in order from the first message on",
    () => keepOrder(tenantQueues, 5),
    600_000,
  )

  test("messages in the new queue of a tenant wait for those that came before the queue", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const gate = Latch.makeUnsafe(false)
        const indexes: Array<number> = []
        const handle: Handle = ({ envelope }) =>
          Effect.andThen(
            gate.await,
            Effect.sync(() => indexes.push(indexOf(envelope))),
          )
        yield* bus.subscribe(new Listener(handle).subscription)
        // More than the broker delivers at once, so that some are still in the queue of new tenants.
        const [before, all] = [400, 450]
        const messages = Array.from({ length: all }, (_, index) => numberedMessage({}, index))
        yield* bus.publish(messages.slice(0, before))
        const queue = `${rig().prefix}.acme.q:first`
        yield* Effect.promise(() =>
          eventually("the tenant has a queue", () =>
            rig()
              .ready(queue)
              .then(
                () => true,
                () => undefined,
              ),
          ),
        )
        yield* bus.publish(messages.slice(before))
        // Nobody reads it while an earlier message is at work.
        for (let asked = 0; asked < 100; asked++) {
          expect(yield* Effect.promise(() => consumersOf("acme"))).toBe(0)
        }
        gate.openUnsafe()
        yield* until("all are handled", () => indexes.length === all)
        expect(indexes).toEqual(messages.map((_, index) => index))
        yield* untilNothingIsLeft(bus)
      }),
    ))

  test("a bus that starts later knows the tenants, and reads what waits for them", async () => {
    const seen: Array<string> = []
    await withBus((bus) =>
      Effect.gen(function* () {
        yield* bus.subscribe(new Listener().subscription)
        yield* bus.publish([sampleMessage({ tenant: "acme" }), sampleMessage({ tenant: "globex" })])
        yield* untilConsumed("acme")
        yield* untilConsumed("globex")
      }),
    )
    await withBus((bus) =>
      Effect.gen(function* () {
        const message = sampleMessage({ tenant: "acme" })
        yield* bus.publish([message])
        expect(yield* Effect.promise(() => rig().ready(`${rig().prefix}.acme.q:first`))).toBe(1)
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        yield* until("it is handled", () => listener.asked.length === 1)
        seen.push(...listener.askedIds)
        expect(listener.askedIds).toEqual([message.id])
        yield* untilNothingIsLeft(bus)
      }),
    )
    expect(seen).toHaveLength(1)
  })

  test("a group needs no plug-in, and refuses queues that were made for the other layout", async () => {
    await withBus((bus) => bus.subscribe(new Listener().subscription))
    const other = Effect.flatMap(Bus, (bus) => Effect.flip(bus.subscribe(new Listener().subscription)))
    const { message, isPermanent } = await Effect.runPromise(
      other.pipe(Effect.scoped, Effect.provide(rig().bus({ queues: 4 })), Effect.provide(Logger.layer([]))),
    )
    expect(isPermanent).toBe(true)
    expect(message).toContain("the group first with other settings")
  })
})

if (tenantQueues > 300) {
  describeRabbit("the whole suite", () => {
    const rig = rigOfFile(() => RabbitRig.start())

    busSuite("RabbitMQ, a queue for each tenant", {
      fresh: (options) => rig().freshBus(options, { queues: "tenant" }),
      abilities: rabbitAbilities,
      time: realTime,
      listenElsewhere: () => Effect.void,
      membersShare: { skipped: "a tenant has one queue, and a queue has one consumer at a time" },
      inject: (tenant, bytes) =>
        Effect.promise(() => rig().inject(`${rig().prefix}.samples`, `${tenant}.x`, bytes)),
    })
  })
} else {
  test.skip("the whole suite with a queue for each tenant (skipped: npm run test:matrix runs it)", () => {})
}
