// Undeliverable messages on RabbitMQ beyond the laws of every bus: several readers, repeats, foreign messages, and the
// server's own limit of deliveries.
import { expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, type Scope } from "effect"
import { type Bus, MessageRefused } from "../../src/Bus.ts"
import { encodeEnvelope } from "../../src/Envelope.ts"
import type { RabbitOptions } from "../../src/rabbitmq/RabbitBus.ts"
import type { UndeliverableMessages } from "../../src/UndeliverableMessages.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { Listener, quickIntake, sampleMessage } from "../../testkit/BusFixture.ts"
import { describeRabbit } from "../../testkit/RabbitBinaries.ts"
import { RabbitRig } from "../../testkit/RabbitRig.ts"

const refusing = () => Effect.fail(new MessageRefused({ message: "no" }))

interface Parts {
  readonly bus: Bus["Service"]
  readonly kept: UndeliverableMessages["Service"]
}

describeRabbit("undeliverable messages on RabbitMQ", () => {
  const rig = rigOfFile(() => RabbitRig.start())

  const withBus = <A>(
    body: (parts: Parts) => Effect.Effect<A, unknown, Scope.Scope>,
    overrides: Partial<RabbitOptions> = {},
  ): Promise<A> =>
    withBusOf(rig().bus({ intake: quickIntake, ...overrides }), (bus, kept) => body({ bus, kept }))

  const listed = (kept: Parts["kept"], count: number) =>
    Effect.promise(() =>
      eventually(`${count} undeliverable messages`, async () => {
        const { messages } = await Effect.runPromise(kept.list(undefined, { limit: 1_000 }))
        return messages.length === count ? messages : undefined
      }),
    )

  test("two processes see the same messages, one after the other", () =>
    withBus(({ bus, kept }) =>
      Effect.gen(function* () {
        yield* bus.subscribe(new Listener(refusing).subscription)
        yield* bus.publish(Array.from({ length: 20 }, (_, key) => sampleMessage({ key: `call-${key}` })))
        const messages = yield* listed(kept, 20)
        yield* Effect.promise(() =>
          withBus(({ kept: others }) =>
            Effect.gen(function* () {
              const both = yield* Effect.all(
                [kept.list("acme", { limit: 100 }), others.list("acme", { limit: 100 })],
                { concurrency: "unbounded" },
              )
              for (const page of both) expect<unknown>(page.messages).toEqual(messages)
              const id = messages[0]?.id ?? ""
              const discarded = yield* Effect.all([kept.discard("acme", id), others.discard("acme", id)], {
                concurrency: "unbounded",
              })
              expect([...discarded].sort()).toEqual(["discarded", "notFound"])
              expect(yield* others.oldestAt).toBe(messages[1]?.storedAt)
            }),
          ),
        )
      }),
    ))

  test("a message that is set aside twice is listed once", () =>
    withBus(({ bus, kept }) =>
      Effect.gen(function* () {
        yield* bus.subscribe(new Listener(refusing).subscription)
        const message = sampleMessage()
        yield* bus.publish([message])
        yield* bus.publish([message])
        yield* Effect.promise(() =>
          eventually("both are stored", async () =>
            (await rig().ready(`${rig().prefix}.dlq`)) === 2 ? true : undefined,
          ),
        )
        expect(yield* listed(kept, 1)).toHaveLength(1)
      }),
    ))

  test("something else in the queue stays there, and is not listed", () =>
    withBus(({ kept }) =>
      Effect.gen(function* () {
        const queue = `${rig().prefix}.dlq`
        yield* Effect.promise(() => rig().inject(queue, "anything", Buffer.from("no record")))
        expect((yield* kept.list(undefined, { limit: 10 })).messages).toEqual([])
        yield* Effect.promise(() =>
          eventually("it is given back", async () => ((await rig().ready(queue)) === 1 ? true : undefined)),
        )
      }),
    ))

  test("a cursor that no page gave is refused", () =>
    withBus(({ kept }) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(kept.list(undefined, { limit: 1, cursor: "17" }))
        expect(refused.message).toContain("must be the cursor of an earlier page")
      }),
    ))

  test("a message with headers of other programs keeps them, and a replay has them again", () =>
    withBus(
      ({ bus, kept }) =>
        Effect.gen(function* () {
          let isFixed = false
          const listener = new Listener(() => (isFixed ? Effect.void : refusing()))
          yield* bus.subscribe(listener.subscription)
          const message = sampleMessage()
          yield* Effect.promise(() =>
            rig().withChannel(async (channel) => {
              channel.publish(
                `${rig().prefix}.samples`,
                "acme.call-1",
                Buffer.from(encodeEnvelope(message)),
                {
                  headers: { "their-header": "x", nested: { a: [1, true] } },
                  messageId: "theirs",
                  type: "their-type",
                },
              )
              await channel.checkExchange(`${rig().prefix}.samples`)
            }),
          )
          const [entry] = yield* listed(kept, 1)
          expect(entry?.original).toEqual(encodeEnvelope(message))
          const copies = yield* Effect.promise(() =>
            rig().withChannel(async (channel) => {
              const { queue } = await channel.assertQueue("", { exclusive: true })
              await channel.bindQueue(queue, `${rig().prefix}:first`, "20")
              isFixed = true
              await Effect.runPromise(kept.replay("acme", entry?.id ?? ""))
              const got = await channel.get(queue, { noAck: true })
              return got === false ? [] : [got]
            }),
          )
          yield* Effect.promise(() =>
            eventually("it is handled", () =>
              listener.events("processed") + copies.length > 0 ? true : undefined,
            ),
          )
          for (const { properties } of copies) {
            expect(properties).toMatchObject({ messageId: "theirs", type: "their-type" })
            expect(properties.headers).toMatchObject({ "their-header": "x", nested: { a: [1, true] } })
          }
        }),
      { queues: 1 },
    ))

  test("the server's own limit of deliveries is a backstop, and such a message is listed and replayed, too", () =>
    withBus(
      ({ bus, kept }) =>
        Effect.gen(function* () {
          const message = sampleMessage()
          yield* Effect.scoped(bus.subscribe(new Listener().subscription))
          yield* bus.publish([message])
          // A program that takes the message and always gives it back.
          const taken = yield* Effect.promise(() =>
            rig().withChannel(async (channel) => {
              let count = 0
              await channel.consume(`${rig().prefix}:first:0`, (got) => {
                count++
                if (got !== null) channel.nack(got)
              })
              await eventually("the server sets it aside", async () =>
                (await rig().ready(`${rig().prefix}.dlq`)) === 1 ? true : undefined,
              )
              return count
            }),
          )
          expect(taken).toBe(101)
          const [entry] = yield* listed(kept, 1)
          expect(entry?.record).toMatchObject({
            reason: "deliveriesExhausted",
            group: "first",
            envelope: { id: message.id },
          })
          expect(entry?.tenant).toBe("acme")
          expect(entry?.original).toEqual(encodeEnvelope(message))
          expect(yield* kept.oldestAt).toBe(entry?.storedAt)
          const listener = new Listener()
          yield* bus.subscribe(listener.subscription)
          expect(yield* kept.replay("acme", entry?.id ?? "")).toBe("replayed")
          yield* Effect.promise(() =>
            eventually("it is handled", () => (listener.asked.length === 1 ? true : undefined)),
          )
          expect(listener.deliveries).toEqual([1])
        }),
      { queues: 1 },
    ))
})
