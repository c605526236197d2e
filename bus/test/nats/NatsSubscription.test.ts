// What the subscription pulls from the broker: how much at once, and starting where.
import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { eventually } from "@punctual/server/testkit/eventually"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Logger, type Scope } from "effect"
import { Bus } from "../../src/Bus.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { groups, Listener, quickIntake, sampleMessage } from "../../testkit/BusFixture.ts"
import { until } from "../../testkit/busFaults.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

const intake = { ...quickIntake, ackWaitMs: 20_000, heldAtMost: 1_000, closeWithinMs: 100 }

describeNats("pulling", () => {
  const rig = rigOfFile(() => NatsRig.start())

  const withBus = (body: (bus: Bus["Service"]) => Effect.Effect<void, unknown, Scope.Scope>): Promise<void> =>
    withBusOf(rig().bus({ intake }), body)

  const consumerInfo = () => rig().manager.consumers.info("svc", "first")

  /** Only newer servers answer a pull that comes after its consumer was removed. */
  const untilPullsWait = Effect.promise(() =>
    eventually("pulls wait at the broker", async () =>
      (await consumerInfo()).num_waiting > 0 ? true : undefined,
    ),
  )

  test("a removed consumer is created again, starting at the last position that the broker reported", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const [before, waiting, after] = ["before", "waiting", "after"].map((key) => sampleMessage({ key }))
        if (before === undefined || waiting === undefined || after === undefined) throw new Error("three")
        const listener = new Listener(({ envelope }) =>
          envelope.aggregateId === "waiting" ? Effect.never : Effect.void,
        )
        yield* bus.subscribe(listener.subscription)
        yield* bus.publish([before])
        yield* Effect.promise(() =>
          eventually("it is acknowledged", async () =>
            (await consumerInfo()).ack_floor.stream_seq === 1 ? true : undefined,
          ),
        )
        yield* bus.publish([waiting])
        yield* until("the next is at its handler", () => listener.asked.length === 2)
        yield* bus.sample(groups[0])
        yield* untilPullsWait
        yield* Effect.promise(() => rig().manager.consumers.delete("svc", "first"))
        yield* bus.publish([after])
        yield* until("it is handled", () => listener.asked.some(({ envelope }) => envelope.id === after.id))
        yield* until("what was not acknowledged comes again", () => listener.events("received") === 4)
        expect(listener.asked.filter(({ envelope }) => envelope.id === before.id)).toHaveLength(1)
        const { config } = yield* Effect.promise(consumerInfo)
        expect(config.opt_start_seq).toBe(2)
        yield* untilPullsWait

        // The same positions in another stream hold other messages.
        yield* Effect.promise(() => rig().manager.streams.delete("svc"))
        yield* Effect.promise(() =>
          eventually("there is a stream again", () =>
            Effect.runPromise(bus.publish([sampleMessage({ key: "elsewhere" })])).then(
              () => true,
              () => undefined,
            ),
          ),
        )
        yield* until("the first of the new stream is handled", () =>
          listener.asked.some(({ envelope }) => envelope.aggregateId === "elsewhere"),
        )
      }),
    ))

  test("many large messages cost no delivery: no more are asked for than the broker keeps for a connection", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const payloadJson = JSON.stringify("x".repeat(900_000))
        const messages = Array.from({ length: 120 }, (_, index) => ({
          ...sampleMessage({ key: `call-${index}` }),
          payloadJson,
        }))
        for (const message of messages) yield* bus.publish([message])
        const listener = new Listener()
        yield* bus.subscribe(listener.subscription)
        yield* until("all are handled", () => listener.asked.length >= messages.length)
        expect(listener.asked).toHaveLength(messages.length)
        expect(listener.events("redelivered")).toBe(0)
        expect(rig().server.hasLogged("Slow Consumer")).toBe(false)
      }),
    ))

  test("a message that is larger than the broker's current limit is still handled, and so are those behind it", async () => {
    using folder = new TemporaryFolder()
    const allow = (maxPayloadMb: number) =>
      writeFileSync(join(folder.path, "limits.conf"), `max_payload: ${maxPayloadMb}MB\n`)
    allow(8)
    await using own = await NatsRig.start({ config: `include "../${basename(folder.path)}/limits.conf"` })
    await own.renew()
    const large = { ...sampleMessage({ key: "large" }), payloadJson: JSON.stringify("x".repeat(6_000_000)) }
    const messages = [sampleMessage({ key: "before" }), large, sampleMessage({ key: "behind" })]
    const publishing = Effect.flatMap(Bus, (bus) => bus.publish(messages))
    const silent = Logger.layer([])
    await Effect.runPromise(publishing.pipe(Effect.provide(own.bus({ intake })), Effect.provide(silent)))
    allow(1)
    await own.server.restart()
    const listener = new Listener()
    const handling = Effect.gen(function* () {
      yield* (yield* Bus).subscribe(listener.subscription)
      yield* until("all are handled", () => listener.asked.length === messages.length)
      expect(listener.events("redelivered")).toBe(0)
    })
    await Effect.runPromise(
      handling.pipe(Effect.scoped, Effect.provide(own.bus({ intake })), Effect.provide(silent)),
    )
  })
})
