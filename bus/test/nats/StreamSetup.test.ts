import { describe, expect, test } from "bun:test"
import { Effect, Exit, Layer } from "effect"
import {
  AckPolicy,
  DiscardPolicy,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
} from "../../../drivers/nats/nats.ts"
import { Bus } from "../../src/Bus.ts"
import { defaultIntakeOptions } from "../../src/IntakeOptions.ts"
import {
  type ConsumerFacts,
  consumerConfig,
  consumerContradictions,
  type StreamFacts,
  streamContradictions,
  streamWarnings,
} from "../../src/nats/StreamSetup.ts"
import { rigOfFile } from "../../testkit/BrokerRig.ts"
import { Listener } from "../../testkit/BusFixture.ts"
import { keptLogs } from "../../testkit/keptLogs.ts"
import { describeNats } from "../../testkit/NatsBinary.ts"
import { NatsRig } from "../../testkit/NatsRig.ts"
import { NatsServer } from "../../testkit/NatsServer.ts"

const soundStream: StreamFacts = {
  subjects: ["svc.>"],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  num_replicas: 3,
  max_age: 0,
  max_msgs: -1,
  max_bytes: -1,
  max_msgs_per_subject: -1,
  discard: DiscardPolicy.Old,
}

const consumer = { group: "first", subjects: "svc.*.samples", intake: defaultIntakeOptions }
const soundConsumer = consumerConfig(consumer)

const wanted = { subjects: "svc.>" }
const unsynced = { stream: "svc", isSynced: false, syncSetting: "SYNC=always" }

describe("what a stream may be", () => {
  test("one that the service creates is accepted without a warning", () => {
    expect(streamContradictions(soundStream, wanted)).toEqual([])
    expect(streamWarnings(soundStream, unsynced)).toEqual([])
  })

  const contradictions: ReadonlyArray<readonly [string, StreamFacts]> = [
    ["subjects", { subjects: ["svc.acme.>"] }],
    ["retention", { retention: RetentionPolicy.Workqueue }],
    ["retention", { retention: RetentionPolicy.Interest }],
    ["no_ack", { no_ack: true }],
    ["sealed", { sealed: true }],
    ["mirror", { mirror: { name: "other" } }],
    ["max_msgs_per_subject", { max_msgs_per_subject: 10 }],
    ["deny_delete", { deny_delete: true }],
  ]
  for (const [setting, facts] of contradictions) {
    test(`${JSON.stringify(facts)} is refused, and nothing else is named`, () => {
      const found = streamContradictions({ ...soundStream, ...facts }, wanted)
      expect(found).toHaveLength(1)
      expect(found[0]).toStartWith(`${setting} is `)
      expect(found[0]).toContain("must")
    })
  }

  const warnings: ReadonlyArray<readonly [string, StreamFacts]> = [
    ["max_age", { max_age: nanos(1_000) }],
    ["max_age", { max_age: nanos(1_000), discard: DiscardPolicy.New }],
    ["max_msgs", { max_msgs: 10 }],
    ["max_bytes", { max_bytes: 10 }],
    ["in memory", { storage: StorageType.Memory }],
    ["one replica", { num_replicas: 1 }],
  ]
  for (const [words, facts] of warnings) {
    test(`${JSON.stringify(facts)} is warned of`, () => {
      const found = streamWarnings({ ...soundStream, ...facts }, unsynced)
      expect(found).toHaveLength(1)
      expect(found[0]).toContain(words)
    })
  }

  test("a full stream that refuses new messages loses none, so nothing is said", () => {
    const facts = { ...soundStream, max_msgs: 10, discard: DiscardPolicy.New }
    expect(streamWarnings(facts, unsynced)).toEqual([])
  })

  test("one replica is enough when the operator says that the server syncs every write", () => {
    expect(streamWarnings({ ...soundStream, num_replicas: 1 }, { ...unsynced, isSynced: true })).toEqual([])
  })
})

describe("what a consumer may be", () => {
  const contradictionsOf = (facts: ConsumerFacts) =>
    consumerContradictions({ ...soundConsumer, ...facts }, consumer)

  test("one that the service creates is accepted", () => {
    expect(contradictionsOf({})).toEqual([])
    expect(contradictionsOf({ max_ack_pending: defaultIntakeOptions.heldAtMost })).toEqual([])
  })

  const contradictions: ReadonlyArray<readonly [string, ConsumerFacts]> = [
    ["deliver_subject", { deliver_subject: "push.here" }],
    ["ack_policy", { ack_policy: AckPolicy.None }],
    ["ack_policy", { ack_policy: AckPolicy.All }],
    ["ack_wait", { ack_wait: nanos(29_999) }],
    ["backoff", { backoff: [nanos(1_000)] }],
    ["max_deliver", { max_deliver: 5 }],
    ["filter_subject", { filter_subject: "svc.>" }],
    ["max_ack_pending", { max_ack_pending: defaultIntakeOptions.heldAtMost - 1 }],
    ["inactive_threshold", { inactive_threshold: nanos(1_000) }],
    ["mem_storage", { mem_storage: true }],
    ["max_batch", { max_batch: 255 }],
    ["max_expires", { max_expires: nanos(29_999) }],
    ["max_bytes", { max_bytes: 1_000_000 }],
    ["headers_only", { headers_only: true }],
    ["replay_policy", { replay_policy: ReplayPolicy.Original }],
  ]
  for (const [setting, facts] of contradictions) {
    test(`${JSON.stringify(facts)} is refused, and nothing else is named`, () => {
      const found = contradictionsOf(facts)
      expect(found).toHaveLength(1)
      expect(found[0]).toStartWith(`${setting} is `)
      expect(found[0]).toContain("must")
    })
  }
})

describeNats("setting up at a real broker", () => {
  const rig = rigOfFile(() => NatsRig.start())

  const subscribed = Effect.gen(function* () {
    const bus = yield* Bus
    yield* bus.subscribe(new Listener().subscription)
  }).pipe(Effect.scoped)

  const starting = (logs = keptLogs()) =>
    Effect.runPromise(
      subscribed.pipe(Effect.provide(rig().bus()), Effect.provide(logs.layer), Effect.scoped, Effect.exit),
    )

  const refusalOf = async (): Promise<string> => {
    const exit = await starting()
    if (Exit.isSuccess(exit)) throw new Error("it started")
    return String(exit.cause)
  }

  test("what is missing is created, and accepted at the next start", async () => {
    expect(Exit.isSuccess(await starting())).toBe(true)
    const { config: stream } = await rig().manager.streams.info("svc")
    expect(stream).toMatchObject({
      subjects: ["svc.>"],
      retention: "limits",
      storage: "file",
      max_msgs: -1,
      max_bytes: -1,
      max_age: 0,
      num_replicas: 1,
      duplicate_window: nanos(120_000),
    })
    const { config: made } = await rig().manager.consumers.info("svc", "first")
    expect(made).toMatchObject({
      durable_name: "first",
      filter_subject: "svc.*.samples",
      ack_policy: "explicit",
      ack_wait: nanos(30_000),
      max_deliver: -1,
      deliver_policy: "all",
    })
    expect(made.max_ack_pending).toBeGreaterThanOrEqual(2 * defaultIntakeOptions.heldAtMost)
    expect(made.backoff).toBeUndefined()
    expect(made.deliver_subject).toBeUndefined()
    expect(Exit.isSuccess(await starting())).toBe(true)
  })

  test("a stream that contradicts is refused by each setting's name, and left as it is", async () => {
    await rig().manager.streams.add({
      name: "svc",
      subjects: ["svc.acme.>"],
      retention: RetentionPolicy.Workqueue,
      max_msgs_per_subject: 5,
    })
    const refusal = await refusalOf()
    for (const setting of ["subjects is", "retention is", "max_msgs_per_subject is 5"]) {
      expect(refusal).toContain(setting)
    }
    expect((await rig().manager.streams.info("svc")).config.subjects).toEqual(["svc.acme.>"])
  })

  test("a consumer that contradicts is refused by each setting's name, and left as it is", async () => {
    await rig().manager.streams.add({ name: "svc", subjects: ["svc.>"] })
    await rig().manager.consumers.add("svc", {
      durable_name: "first",
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(5_000),
      max_deliver: 3,
      max_ack_pending: 10,
    })
    const refusal = await refusalOf()
    for (const setting of [
      "ack_wait is 5000 ms",
      "max_deliver is 3",
      "filter_subject is",
      "max_ack_pending",
    ]) {
      expect(refusal).toContain(setting)
    }
    const { config } = await rig().manager.consumers.info("svc", "first")
    expect(config.ack_wait).toBe(nanos(5_000))
  })

  test("a push consumer, and one with a back-off, are refused", async () => {
    await rig().manager.streams.add({ name: "svc", subjects: ["svc.>"] })
    await rig().manager.consumers.add("svc", {
      durable_name: "first",
      ack_policy: AckPolicy.Explicit,
      filter_subject: "svc.*.samples",
      deliver_subject: "push.here",
      max_deliver: 3,
      backoff: [nanos(1_000), nanos(2_000)],
    })
    const refusal = await refusalOf()
    expect(refusal).toContain("deliver_subject is")
    expect(refusal).toContain("backoff is")
  })

  test("another stream that holds the subjects is named", async () => {
    await rig().manager.streams.add({ name: "theirs", subjects: ["svc.acme.>"] })
    expect(await refusalOf()).toContain("theirs")
  })

  test("risks are told at the start, once", async () => {
    await rig().manager.streams.add({ name: "svc", subjects: ["svc.>"], max_age: nanos(3_600_000_000) })
    const logs = keptLogs()
    expect(Exit.isSuccess(await starting(logs))).toBe(true)
    expect(logs.lines.filter((line) => line.includes("max_age"))).toHaveLength(1)
    expect(logs.lines.filter((line) => line.includes("SYNC=always"))).toHaveLength(1)
  })

  test("a broker without JetStream is distinguished from an unreachable one", async () => {
    const failureAt = async (address: string) => {
      const bus = rig().bus({ servers: [address], connectTimeoutMs: 500 })
      const exit = await Effect.runPromise(Effect.exit(Effect.scoped(Layer.build(bus))))
      return Exit.isFailure(exit) ? String(exit.cause) : "it started"
    }
    await using plain = await NatsServer.start({ isJetStreamOn: false })
    expect(await failureAt(plain.address)).toContain("JetStream is not enabled")
    await plain.stop()
    const refused = await failureAt(plain.address)
    expect(refused).toContain(plain.address)
    expect(refused).toContain("connection refused")
  })
})
