import { describe, expect, test } from "bun:test"
import { connect } from "node:net"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Logger, Result } from "effect"
import { headers } from "../../../drivers/nats/nats.ts"
import { type Bus, MessageRefused } from "../../src/Bus.ts"
import { encodeEnvelope } from "../../src/Envelope.ts"
import { weightBytes } from "../../src/nats/NatsPublisher.ts"
import { cameToHeader, onlyGroupHeader, undeliverableFor } from "../../src/nats/NatsUndeliverable.ts"
import { decodeUndeliverable } from "../../src/Undeliverable.ts"
import type { UndeliverableMessages } from "../../src/UndeliverableMessages.ts"
import { rigOfFile, withBusOf } from "../../testkit/BrokerRig.ts"
import { type Handle, Listener, quickIntake, sampleMessage } from "../../testkit/BusFixture.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"

const facts = {
  reason: "refused",
  deliveries: 1,
  firstFailure: { at: 1_750_000_000_000, error: "no" },
  lastFailure: { at: 1_750_000_000_000, error: "no" },
} as const

describe("an undeliverable message for the broker", () => {
  const came = (data: Uint8Array, headerBytes = 0) => {
    const head = headers()
    head.set("Nats-Msg-Id", "the first id")
    head.set("Their-Own", "x".repeat(headerBytes))
    return { subject: "svc.acme.samples", data, headers: head }
  }

  test("keeps the headers that are not the broker's, and the original subject", () => {
    const { headers: head } = undeliverableFor(
      "svc.acme.dlq",
      "dead-1",
      came(new Uint8Array(3), 3),
      facts,
      1e6,
    )
    expect(Object.fromEntries(head)).toEqual({
      "Their-Own": ["xxx"],
      "Nats-Msg-Id": ["dead-1"],
      [cameToHeader]: ["svc.acme.samples"],
    })
  })

  test("is cut to what the broker takes, message first, and says so", () => {
    const failure = { at: 1_750_000_000_000, error: "no ".repeat(200) }
    const wordy = { ...facts, firstFailure: failure, lastFailure: failure }
    const data = Uint8Array.from({ length: 10_000 }, (_, index) => index % 256)
    for (const [headerBytes, mostBytes] of [
      [10, 4_096],
      [10, 10_001],
      [100_000, 4_096],
      [10, 512],
    ] as const) {
      const record = undeliverableFor("svc.acme.dlq", "dead-1", came(data, headerBytes), wordy, mostBytes)
      expect(weightBytes(record)).toBeLessThanOrEqual(mostBytes)
      expect(weightBytes(record)).toBeGreaterThan(mostBytes - 8)
      const opened = Result.getOrThrow(decodeUndeliverable(record.bytes))
      expect(opened.record.isCut).toBe(true)
      expect(opened.original).toEqual(data.subarray(0, opened.original.length))
      expect(record.headers.has("Their-Own")).toBe(headerBytes === 10 && mostBytes > 512)
      expect(record.headers.get(cameToHeader)).toBe("svc.acme.samples")
    }
  })
})

describeNats("undeliverable messages at the broker", () => {
  const rig = rigOfFile(() => NatsRig.start())

  /** Sends a message with its headers unchecked, because other clients check less than ours. */
  const publishRaw = (head: string, body: string): Promise<void> => {
    const { auth } = rig().options()
    if (auth === undefined || !("user" in auth)) throw new Error("the rig has users")
    const sizes = `${Buffer.byteLength(head)} ${Buffer.byteLength(head + body)}`
    return new Promise((resolve, reject) => {
      const socket = connect(rig().server.port, rig().server.host)
      let heard = ""
      socket.on("error", reject)
      socket.on("data", (chunk) => {
        heard += chunk.toString()
        if (heard.includes("PONG")) socket.end(() => resolve())
      })
      socket.write(`CONNECT ${JSON.stringify({ user: auth.user, pass: auth.password, headers: true })}\r\n`)
      socket.write(`HPUB svc.acme.samples ${sizes}\r\n${head}${body}\r\nPING\r\n`)
    })
  }

  const refusing: Handle = () => Effect.fail(new MessageRefused({ message: "never" }))

  type Kept = UndeliverableMessages["Service"]

  const withBus = (body: (bus: Bus["Service"], kept: Kept) => Effect.Effect<void, unknown>): Promise<void> =>
    withBusOf(rig().bus({ intake: quickIntake }), body)

  /** Sets aside the messages on the topic, through a subscription that ends afterwards. */
  const setAllAside = (bus: Bus["Service"], kept: Kept, tenant: string, count: number) =>
    Effect.gen(function* () {
      yield* bus.subscribe(new Listener(refusing).subscription)
      return yield* Effect.promise(() =>
        eventually("the undeliverable messages are there", async () => {
          const page = kept.list(tenant, { limit: 100 })
          const { messages } = await Effect.runPromise(Effect.provide(page, Logger.layer([])))
          return messages.length === count ? messages : undefined
        }),
      )
    }).pipe(Effect.scoped)

  const stored = (sequence: number) => rig().manager.streams.getMessage("svc", { seq: sequence })

  test("a replay goes to the topic of the message, with its bytes, its headers, and an id of its own", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        const message = sampleMessage({ correlationId: "order-1" })
        yield* bus.publish([message])
        const [entry] = yield* setAllAside(bus, kept, "acme", 1)
        const record = yield* Effect.promise(() => stored(Number(entry?.id)))
        expect(record?.subject).toBe("svc.acme.dlq")
        expect(yield* kept.replay("acme", entry?.id ?? "")).toBe("replayed")
        const [first, replayed] = yield* Effect.promise(() => Promise.all([stored(1), stored(3)]))
        expect(replayed?.subject).toBe("svc.acme.samples")
        expect(replayed?.data).toEqual(encodeEnvelope(message))
        const theirs = ["tenantId", "aggregateId", "correlationId"]
        for (const name of theirs) expect(replayed?.header.get(name)).toBe(first?.header.get(name))
        expect(replayed?.header.get("Nats-Msg-Id")).toStartWith("replay-2-")
        expect(replayed?.header.has(cameToHeader)).toBe(false)
        expect(replayed?.header.get(onlyGroupHeader)).toBe("first")
      }),
    ))

  test("two replays at once publish once", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        yield* bus.publish([sampleMessage()])
        const [entry] = yield* setAllAside(bus, kept, "acme", 1)
        const replay = kept.replay("acme", entry?.id ?? "")
        const answers = yield* Effect.all([replay, replay], { concurrency: 2 })
        expect(answers.toSorted()).toEqual(["duplicate", "replayed"])
        const { state } = yield* Effect.promise(() => rig().manager.streams.info("svc"))
        expect(state.last_seq).toBe(3)
        expect(yield* kept.replay("acme", entry?.id ?? "")).toBe("notFound")
      }),
    ))

  test("a replay that the broker had already leaves the undeliverable message where it is", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        yield* bus.publish([sampleMessage()])
        const [entry] = yield* setAllAside(bus, kept, "acme", 1)
        const record = yield* Effect.promise(() => stored(Number(entry?.id)))
        // As if a process had published a replay and crashed before it removed the undeliverable message.
        const msgID = `replay-${entry?.id}-${record?.time.getTime()}`
        const earlier = rig().manager.jetstream().publish("svc.acme.samples", "{}", { msgID })
        yield* Effect.promise(() => earlier)
        expect(yield* kept.replay("acme", entry?.id ?? "")).toBe("duplicate")
        expect((yield* kept.list("acme", { limit: 10 })).messages).toHaveLength(1)
      }),
    ))

  test("a message that is too large for an undeliverable message is kept cut, and cannot be replayed", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        const bytes = new Uint8Array(1_000_000).fill(0xff)
        yield* Effect.promise(() => rig().manager.jetstream().publish("svc.acme.samples", bytes))
        const [entry] = yield* setAllAside(bus, kept, "acme", 1)
        expect(entry?.record).toMatchObject({ reason: "malformed", isCut: true })
        expect(entry?.original.length).toBeGreaterThan(700_000)
        expect(entry?.original.every((byte) => byte === 0xff)).toBe(true)
        const refusal = yield* Effect.flip(kept.replay("acme", entry?.id ?? ""))
        expect(refusal.message).toContain("too large")
        expect(yield* kept.discard("acme", entry?.id ?? "")).toBe("discarded")
      }),
    ))

  test("an undeliverable message is not sent to a subject of another tenant", () =>
    withBus((_, kept) =>
      Effect.gen(function* () {
        const head = headers()
        head.set(cameToHeader, "svc.globex.samples")
        const record = undeliverableFor(
          "svc.acme.dlq",
          "forged",
          { subject: "x", data: bytes("{}") },
          facts,
          1e6,
        )
        const forged = rig().manager.jetstream().publish("svc.acme.dlq", record.bytes, { headers: head })
        const { seq } = yield* Effect.promise(() => forged)
        const refusal = yield* Effect.flip(kept.replay("acme", String(seq)))
        expect(refusal.message).toContain("svc.globex.samples")
        expect((yield* kept.list("acme", { limit: 10 })).messages).toHaveLength(1)
      }),
    ))

  test("a replay goes to where messages of its type go now, if that has changed", () =>
    withBus((_, kept) =>
      Effect.gen(function* () {
        const head = headers()
        head.set(cameToHeader, "svc.acme.old")
        const data = encodeEnvelope(sampleMessage())
        const record = undeliverableFor("svc.acme.dlq", "moved", { subject: "x", data }, facts, 1e6)
        const old = rig().manager.jetstream().publish("svc.acme.dlq", record.bytes, { headers: head })
        const { seq } = yield* Effect.promise(() => old)
        expect(yield* kept.replay("acme", String(seq))).toBe("replayed")
        const replayed = yield* Effect.promise(() => stored(seq + 1))
        expect(replayed?.subject).toBe("svc.acme.samples")
      }),
    ))

  test("a message that is not undeliverable is left out of the list, and the list continues", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        const strangers = ["not JSON", "{}"].map((text) =>
          rig().manager.jetstream().publish("svc.acme.dlq", text),
        )
        yield* Effect.promise(() => Promise.all(strangers))
        yield* bus.publish([sampleMessage()])
        yield* setAllAside(bus, kept, "acme", 1)
        const first = yield* kept.list("acme", { limit: 2 })
        expect(first.messages).toEqual([])
        const second = yield* kept.list("acme", { limit: 2, cursor: first.next ?? "" })
        expect(second.messages).toHaveLength(1)
        expect(second.next).toBeUndefined()
      }),
    ))

  test("headers that the client cannot read do not keep a message from the undeliverable messages", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        for (const header of ["A Name: x", "Name: a\nb", "Ümlaut: x", ": x"]) {
          yield* Effect.promise(() => publishRaw(`NATS/1.0\r\n${header}\r\n\r\n`, header))
        }
        const entries = yield* setAllAside(bus, kept, "acme", 4)
        const originals = entries.map(({ original }) => new TextDecoder().decode(original))
        expect(originals).toEqual(["A Name: x", "Name: a\nb", "Ümlaut: x", ": x"])
        for (const { id } of entries) expect(yield* kept.replay("acme", id)).toBe("replayed")
      }),
    ))

  test("the sample says when the oldest undeliverable message of all tenants was stored", () =>
    withBus((bus, kept) =>
      Effect.gen(function* () {
        expect(yield* kept.oldestAt).toBeUndefined()
        yield* bus.publish([sampleMessage({ tenant: "globex" }), sampleMessage({ tenant: "acme" })])
        const [globex] = yield* setAllAside(bus, kept, "globex", 1)
        const [acme] = yield* setAllAside(bus, kept, "acme", 1)
        const oldest = Math.min(globex?.storedAt ?? 0, acme?.storedAt ?? 0)
        expect(yield* kept.oldestAt).toBe(oldest)
        const [first, second] = globex?.storedAt === oldest ? [globex, acme] : [acme, globex]
        yield* kept.discard(first?.tenant ?? "", first?.id ?? "")
        expect(yield* kept.oldestAt).toBe(second?.storedAt)
        yield* kept.discard(second?.tenant ?? "", second?.id ?? "")
        expect(yield* kept.oldestAt).toBeUndefined()
        yield* bus.publish([sampleMessage({ tenant: "acme" })])
        const [later] = yield* setAllAside(bus, kept, "acme", 1)
        expect(yield* kept.oldestAt).toBe(later?.storedAt)
      }),
    ))
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
