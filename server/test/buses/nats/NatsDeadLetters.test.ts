import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { connect } from "node:net"
import { decodeDeadLetter } from "@punctual/api/DeadLetter"
import { encodeEnvelope } from "@punctual/api/Envelope"
import { Effect, Logger, Result } from "effect"
import { headers } from "../../../../drivers/nats/nats.ts"
import { cameToHeader, deadLetterFor, NatsDeadLetters } from "../../../src/buses/nats/NatsDeadLetters.ts"
import { weightBytes } from "../../../src/buses/nats/NatsPublisher.ts"
import { Bus, MessageRefused } from "../../../src/ports/Bus.ts"
import { type Handle, Listener, quickIntake, sampleMessage } from "../../../testkit/BusFixture.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { describeNats } from "../../../testkit/NatsBinary.ts"
import { NatsRig } from "../../../testkit/NatsRig.ts"

const facts = {
  reason: "refused",
  deliveries: 1,
  firstFailure: { at: 1_750_000_000_000, error: "no" },
  lastFailure: { at: 1_750_000_000_000, error: "no" },
} as const

describe("a dead letter for the broker", () => {
  const came = (data: Uint8Array, headerBytes = 0) => {
    const head = headers()
    head.set("Nats-Msg-Id", "the first id")
    head.set("Their-Own", "x".repeat(headerBytes))
    return { subject: "svc.acme.serviceCall", data, headers: head }
  }

  test("keeps the headers that are not the broker's, and where it came to", () => {
    const { headers: head } = deadLetterFor("svc.acme.dlq", "dead-1", came(new Uint8Array(3), 3), facts, 1e6)
    expect(Object.fromEntries(head)).toEqual({
      "Their-Own": ["xxx"],
      "Nats-Msg-Id": ["dead-1"],
      [cameToHeader]: ["svc.acme.serviceCall"],
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
      const letter = deadLetterFor("svc.acme.dlq", "dead-1", came(data, headerBytes), wordy, mostBytes)
      expect(weightBytes(letter)).toBeLessThanOrEqual(mostBytes)
      expect(weightBytes(letter)).toBeGreaterThan(mostBytes - 8)
      const opened = Result.getOrThrow(decodeDeadLetter(letter.bytes))
      expect(opened.letter.isCut).toBe(true)
      expect(opened.original).toEqual(data.subarray(0, opened.original.length))
      expect(letter.headers.has("Their-Own")).toBe(headerBytes === 10 && mostBytes > 512)
      expect(letter.headers.get(cameToHeader)).toBe("svc.acme.serviceCall")
    }
  })
})

describeNats("dead letters at the broker", () => {
  let rig: NatsRig
  beforeAll(async () => {
    rig = await NatsRig.start()
  })
  beforeEach(() => rig.renew())
  afterAll(() => rig[Symbol.asyncDispose]())

  /** Sends a message with its headers as they are: other clients check less than ours. */
  const publishRaw = (head: string, body: string): Promise<void> => {
    const { auth } = rig.options()
    if (auth === undefined || !("user" in auth)) throw new Error("the rig has users")
    const sizes = `${Buffer.byteLength(head)} ${Buffer.byteLength(head + body)}`
    return new Promise((resolve, reject) => {
      const socket = connect(rig.server.port, rig.server.host)
      let heard = ""
      socket.on("error", reject)
      socket.on("data", (chunk) => {
        heard += chunk.toString()
        if (heard.includes("PONG")) socket.end(() => resolve())
      })
      socket.write(`CONNECT ${JSON.stringify({ user: auth.user, pass: auth.password, headers: true })}\r\n`)
      socket.write(`HPUB svc.acme.serviceCall ${sizes}\r\n${head}${body}\r\nPING\r\n`)
    })
  }

  const refusing: Handle = () => Effect.fail(new MessageRefused({ message: "never" }))

  const withBus = (body: (bus: Bus["Service"]) => Effect.Effect<void, unknown>): Promise<void> =>
    Effect.runPromise(
      Effect.flatMap(Bus, body).pipe(
        Effect.provide(rig.bus({ intake: quickIntake })),
        Effect.provide(Logger.layer([])),
      ),
    )

  /** Buries what is on the topic, by a subscription that ends when it is done. */
  const buryAll = (bus: Bus["Service"], tenant: string, count: number) =>
    Effect.gen(function* () {
      yield* bus.subscribe(new Listener(refusing).subscription)
      return yield* Effect.promise(() =>
        eventually("the dead letters are there", async () => {
          const page = bus.deadLetters.list(tenant, { limit: 100 })
          const { entries } = await Effect.runPromise(Effect.provide(page, Logger.layer([])))
          return entries.length === count ? entries : undefined
        }),
      )
    }).pipe(Effect.scoped)

  const stored = (sequence: number) => rig.manager.streams.getMessage("svc", { seq: sequence })

  test("a replay goes to where the message came to, with its bytes, its headers, and an id of its own", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const message = sampleMessage({ correlationId: "order-1" })
        yield* bus.publish([message])
        const [entry] = yield* buryAll(bus, "acme", 1)
        const letter = yield* Effect.promise(() => stored(Number(entry?.id)))
        expect(letter?.subject).toBe("svc.acme.dlq")
        expect(yield* bus.deadLetters.replay("acme", entry?.id ?? "")).toBe("replayed")
        const [first, replayed] = yield* Effect.promise(() => Promise.all([stored(1), stored(3)]))
        expect(replayed?.subject).toBe("svc.acme.serviceCall")
        expect(replayed?.data).toEqual(encodeEnvelope(message))
        const theirs = ["tenantId", "serviceCallId", "correlationId"]
        for (const name of theirs) expect(replayed?.header.get(name)).toBe(first?.header.get(name))
        expect(replayed?.header.get("Nats-Msg-Id")).toStartWith("replay-2-")
        expect(replayed?.header.has(cameToHeader)).toBe(false)
      }),
    ))

  test("two replays at once publish once", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        yield* bus.publish([sampleMessage()])
        const [entry] = yield* buryAll(bus, "acme", 1)
        const replay = bus.deadLetters.replay("acme", entry?.id ?? "")
        const answers = yield* Effect.all([replay, replay], { concurrency: 2 })
        expect(answers.toSorted()).toEqual(["duplicate", "replayed"])
        const { state } = yield* Effect.promise(() => rig.manager.streams.info("svc"))
        expect(state.last_seq).toBe(3)
        expect(yield* bus.deadLetters.replay("acme", entry?.id ?? "")).toBe("notFound")
      }),
    ))

  test("a replay that the broker had already leaves the dead letter where it is", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        yield* bus.publish([sampleMessage()])
        const [entry] = yield* buryAll(bus, "acme", 1)
        const letter = yield* Effect.promise(() => stored(Number(entry?.id)))
        // As if a replay had been published and its process had died before it removed the dead letter.
        const msgID = `replay-${entry?.id}-${letter?.time.getTime()}`
        const earlier = rig.manager.jetstream().publish("svc.acme.serviceCall", "{}", { msgID })
        yield* Effect.promise(() => earlier)
        expect(yield* bus.deadLetters.replay("acme", entry?.id ?? "")).toBe("duplicate")
        expect((yield* bus.deadLetters.list("acme", { limit: 10 })).entries).toHaveLength(1)
      }),
    ))

  test("a message that is too large for a dead letter is kept cut, and cannot be replayed", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const bytes = new Uint8Array(1_000_000).fill(0xff)
        yield* Effect.promise(() => rig.manager.jetstream().publish("svc.acme.serviceCall", bytes))
        const [entry] = yield* buryAll(bus, "acme", 1)
        expect(entry?.letter).toMatchObject({ reason: "malformed", isCut: true })
        expect(entry?.original.length).toBeGreaterThan(700_000)
        expect(entry?.original.every((byte) => byte === 0xff)).toBe(true)
        const refusal = yield* Effect.flip(bus.deadLetters.replay("acme", entry?.id ?? ""))
        expect(refusal.message).toContain("too large")
        expect(yield* bus.deadLetters.discard("acme", entry?.id ?? "")).toBe("discarded")
      }),
    ))

  test("a dead letter is not sent where its tenant has no business", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const head = headers()
        head.set(cameToHeader, "svc.globex.serviceCall")
        const letter = deadLetterFor(
          "svc.acme.dlq",
          "forged",
          { subject: "x", data: bytes("{}") },
          facts,
          1e6,
        )
        const forged = rig.manager.jetstream().publish("svc.acme.dlq", letter.bytes, { headers: head })
        const { seq } = yield* Effect.promise(() => forged)
        const refusal = yield* Effect.flip(bus.deadLetters.replay("acme", String(seq)))
        expect(refusal.message).toContain("svc.globex.serviceCall")
        expect((yield* bus.deadLetters.list("acme", { limit: 10 })).entries).toHaveLength(1)
      }),
    ))

  test("what is no dead letter is left out of the list, and the walk goes on", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        const strangers = ["not JSON", "{}"].map((text) =>
          rig.manager.jetstream().publish("svc.acme.dlq", text),
        )
        yield* Effect.promise(() => Promise.all(strangers))
        yield* bus.publish([sampleMessage()])
        yield* buryAll(bus, "acme", 1)
        const first = yield* bus.deadLetters.list("acme", { limit: 2 })
        expect(first.entries).toEqual([])
        const second = yield* bus.deadLetters.list("acme", { limit: 2, cursor: first.next ?? "" })
        expect(second.entries).toHaveLength(1)
        expect(second.next).toBeUndefined()
      }),
    ))

  test("headers that the client cannot read do not keep a message from the dead letters", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        for (const header of ["A Name: x", "Name: a\nb", "Ümlaut: x", ": x"]) {
          yield* Effect.promise(() => publishRaw(`NATS/1.0\r\n${header}\r\n\r\n`, header))
        }
        const entries = yield* buryAll(bus, "acme", 4)
        const originals = entries.map(({ original }) => new TextDecoder().decode(original))
        expect(originals).toEqual(["A Name: x", "Name: a\nb", "Ümlaut: x", ": x"])
        for (const { id } of entries) expect(yield* bus.deadLetters.replay("acme", id)).toBe("replayed")
      }),
    ))

  test("the sample tells when the oldest dead letter died, of whatever tenant", () =>
    withBus((bus) =>
      Effect.gen(function* () {
        expect((yield* bus.sample).oldestDeadLetterAt).toBeUndefined()
        yield* bus.publish([sampleMessage({ tenant: "globex" }), sampleMessage({ tenant: "acme" })])
        const [globex] = yield* buryAll(bus, "globex", 1)
        const [acme] = yield* buryAll(bus, "acme", 1)
        const oldest = Math.min(globex?.diedAt ?? 0, acme?.diedAt ?? 0)
        expect((yield* bus.sample).oldestDeadLetterAt).toBe(oldest)
        const [first, second] = globex?.diedAt === oldest ? [globex, acme] : [acme, globex]
        yield* bus.deadLetters.discard(first?.tenant ?? "", first?.id ?? "")
        expect((yield* bus.sample).oldestDeadLetterAt).toBe(second?.diedAt)
        yield* bus.deadLetters.discard(second?.tenant ?? "", second?.id ?? "")
        expect((yield* bus.sample).oldestDeadLetterAt).toBeUndefined()
        yield* bus.publish([sampleMessage({ tenant: "acme" })])
        const [later] = yield* buryAll(bus, "acme", 1)
        expect((yield* bus.sample).oldestDeadLetterAt).toBe(later?.diedAt)
      }),
    ))

  test("they can be looked after without a consumer, once there is a stream", async () => {
    const listed = Effect.flatMap(NatsDeadLetters.open(rig.options()), (letters) =>
      letters.list("acme", { limit: 10 }),
    ).pipe(Effect.scoped)
    const refusal = await Effect.runPromise(Effect.flip(listed))
    expect(refusal.message).toContain("There is no stream svc")
    await withBus(() => Effect.void)
    expect((await Effect.runPromise(listed)).entries).toEqual([])
    expect((await rig.manager.streams.info("svc")).state.consumer_count).toBe(0)
  })
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
