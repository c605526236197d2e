// The stream and the consumer on the broker: made if they are missing, and never changed if they are there. What
// an operator set up otherwise is either harmless, or risky and warned of, or it would break a promise: then the
// start is refused, and each setting is named with what it is and what it must be.

import { Effect } from "effect"
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  millis,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "../../../drivers/nats/nats.ts"
import { BusError } from "../Bus.ts"
import type { IntakeOptions } from "../Intake.ts"
import type { AckFloor } from "./AckFloor.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import type { Connection } from "./Connection.ts"

export interface StreamOptions {
  /** The stream that holds all messages, and the subjects that it holds. */
  readonly stream: string
  readonly subjects: string
  /** Of the stream, if it must be made. */
  readonly replicas: number
  /** The operator says that the server syncs every write to the disk. */
  readonly isSynced: boolean
  /** How the operator says that, as a setting: for the warning. */
  readonly syncSetting: string
}

/** The durable consumer that all members of a group share: it has the group's name. */
export interface ConsumerOptions {
  readonly group: string
  /** What it reads. */
  readonly subjects: string
  readonly intake: IntakeOptions
}

/** The most that is asked for at once, and how long that stands. */
export const largestPull = 256
export const pullExpiresMs = 30_000

/** How far the consumer may be ahead of the answers, in multiples of what one node holds. */
const pendingPerHeld = 10

/** What the checks look at; the broker tells more. */
export type StreamFacts = Partial<StreamConfig>
export type ConsumerFacts = Partial<ConsumerConfig>

/** A stream that is there. */
export interface FoundStream {
  readonly config: StreamFacts
  /** Tells it from another of its name. */
  readonly created: string
}

/** Makes the stream, or checks the one that is there. */
export const ensureStream = Effect.fn("StreamSetup.ensureStream")(function* (
  connection: Connection,
  options: StreamOptions,
): Effect.fn.Return<FoundStream, BusError> {
  const existing = yield* findStream(connection, options.stream)
  const stream = existing ?? (yield* makeStream(connection, options))
  yield* refuse(`the stream ${options.stream}`, streamContradictions(stream.config, options))
  return stream
})

/** Makes the consumer, from where the last one had come to, or checks the one that is there. */
export const ensureConsumer = Effect.fn("StreamSetup.ensureConsumer")(function* (
  connection: Connection,
  streamName: string,
  options: ConsumerOptions,
  stream: FoundStream,
  floor: AckFloor,
): Effect.fn.Return<void, BusError> {
  const { group } = options
  // Asked first, because an older server takes the making of one that is there for a change of it.
  const existing = yield* connection
    .attempt((manager) => manager.consumers.info(streamName, group))
    .pipe(
      Effect.map((info): ConsumerInfo | undefined => info),
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.consumerNotFound
          ? Effect.undefined
          : Effect.fail(connection.refused(`asking for the consumer ${group}`, error)),
      ),
    )
  if (existing === undefined) {
    const first = floor.firstSequenceIn(stream.created)
    const made = yield* connection.ask(`making the consumer ${group}`, (manager) =>
      manager.consumers.add(streamName, { ...consumerConfig(options), ...startingAt(first) }),
    )
    floor.follow(stream.created, made)
    const from = first === 1 ? "" : `, from message ${first} on`
    yield* Effect.logInfo(`made the consumer ${group} of the stream ${streamName} at NATS${from}`)
    return
  }
  yield* refuse(
    `the consumer ${group} of the stream ${streamName}`,
    consumerContradictions(existing.config, options),
  )
  floor.follow(stream.created, existing)
})

const startingAt = (sequence: number): ConsumerFacts =>
  sequence === 1 ? {} : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: sequence }

export const consumerConfig = ({ group, subjects, intake }: ConsumerOptions): ConsumerFacts => ({
  durable_name: group,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(intake.ackWaitMs),
  max_deliver: -1,
  deliver_policy: DeliverPolicy.All,
  replay_policy: ReplayPolicy.Instant,
  filter_subject: subjects,
  // What waits for its next delivery after a failure counts, too: it must not keep the others from coming.
  max_ack_pending: intake.heldAtMost * pendingPerHeld,
})

/** What breaks a promise of the bus, a sentence each. */
export const streamContradictions = (
  config: StreamFacts,
  { subjects }: Pick<StreamOptions, "subjects">,
): ReadonlyArray<string> =>
  [
    config.mirror !== undefined && "mirror is set: it must be a stream of its own, not the mirror of another",
    !coversAll(config.subjects ?? [], subjects) &&
      config.mirror === undefined &&
      `subjects is ${JSON.stringify(config.subjects ?? [])}: it must hold "${subjects}"`,
    config.retention !== undefined &&
      config.retention !== RetentionPolicy.Limits &&
      `retention is "${config.retention}": it must be "limits", or messages vanish that others still have to read`,
    config.no_ack === true && "no_ack is true: it must be false, or nobody knows what was stored",
    config.sealed === true && "sealed is true: it must be false, or nothing can be published",
    (config.max_msgs_per_subject ?? -1) > 0 &&
      `max_msgs_per_subject is ${config.max_msgs_per_subject}: it must be -1, or a tenant's messages push each other out`,
    config.deny_delete === true &&
      "deny_delete is true: it must be false, or undeliverable messages can be neither replayed nor discarded",
  ].filter((contradiction) => contradiction !== false)

/** What an operator should know, a sentence each. */
export const streamWarnings = (
  config: StreamFacts,
  { stream: streamName, isSynced, syncSetting }: Omit<StreamOptions, "replicas" | "subjects">,
): ReadonlyArray<string> => {
  const limits = (["max_age", "max_msgs", "max_bytes"] as const).filter((limit) => (config[limit] ?? 0) > 0)
  const isDiscardingOld = config.discard !== "new" || limits.includes("max_age")
  return [
    limits.length > 0 &&
      isDiscardingOld &&
      `the stream ${streamName} has ${limits.join(" and ")}: when it is reached, messages are dropped, read or not`,
    config.storage === StorageType.Memory &&
      `the stream ${streamName} is kept in memory: a restart of the broker loses its messages`,
    config.storage !== StorageType.Memory &&
      (config.num_replicas ?? 1) === 1 &&
      !isSynced &&
      `the stream ${streamName} has one replica: if the broker's machine fails, messages of the last minutes can be lost that were acknowledged. Either give it 3 replicas, or set sync_interval: always at the server and ${syncSetting} here (a server older than 2.10 cannot)`,
  ].filter((warning) => warning !== false)
}

/** What breaks a promise of the bus, a sentence each. */
export const consumerContradictions = (
  config: ConsumerFacts,
  { subjects, intake }: ConsumerOptions,
): ReadonlyArray<string> => {
  const filters =
    config.filter_subjects ?? (config.filter_subject === undefined ? [] : [config.filter_subject])
  const ackWaitMs = millis(config.ack_wait ?? 0)
  const mostPending = config.max_ack_pending ?? -1
  return [
    config.deliver_subject !== undefined &&
      `deliver_subject is "${config.deliver_subject}": it must be absent, the service pulls`,
    config.ack_policy !== AckPolicy.Explicit && `ack_policy is "${config.ack_policy}": it must be "explicit"`,
    (config.backoff ?? []).length > 0 &&
      "backoff is set: it must be absent, it overrides ack_wait, and the service asks for its delays itself",
    (config.backoff ?? []).length === 0 &&
      ackWaitMs !== intake.ackWaitMs &&
      `ack_wait is ${ackWaitMs} ms: it must be ${intake.ackWaitMs} ms`,
    (config.max_deliver ?? -1) > 0 &&
      `max_deliver is ${config.max_deliver}: it must be -1, or a crash in the last delivery loses the message`,
    (filters.length !== 1 || filters[0] !== subjects) &&
      `filter_subject is ${JSON.stringify(filters)}: it must be "${subjects}"`,
    mostPending > 0 &&
      mostPending < intake.heldAtMost &&
      `max_ack_pending is ${mostPending}: it must be at least ${intake.heldAtMost}`,
    (config.inactive_threshold ?? 0) > 0 &&
      `inactive_threshold is ${millis(config.inactive_threshold ?? 0)} ms: it must be absent, or what was acknowledged is forgotten while the service is away, and all of it comes again`,
    config.mem_storage === true &&
      "mem_storage is true: it must be false, or a restart of the broker forgets what was acknowledged, and all of it comes again",
    (config.max_batch ?? 0) > 0 &&
      (config.max_batch ?? 0) < largestPull &&
      `max_batch is ${config.max_batch}: it must be absent, or at least ${largestPull}`,
    (config.max_expires ?? 0) > 0 &&
      millis(config.max_expires ?? 0) < pullExpiresMs &&
      `max_expires is ${millis(config.max_expires ?? 0)} ms: it must be absent, or at least ${pullExpiresMs} ms`,
    (config.max_bytes ?? 0) > 0 &&
      `max_bytes is ${config.max_bytes}: it must be absent, or messages larger than that are never pulled`,
    config.headers_only === true &&
      "headers_only is true: it must be false, or messages come without content",
    config.replay_policy === ReplayPolicy.Original &&
      `replay_policy is "original": it must be "instant", or messages are held back`,
  ].filter((contradiction) => contradiction !== false)
}

const coversAll = (subjects: ReadonlyArray<string>, wanted: string): boolean =>
  subjects.includes(wanted) || subjects.includes(">")

const findStream = (
  connection: Connection,
  streamName: string,
): Effect.Effect<FoundStream | undefined, BusError> =>
  connection
    .attempt((manager) => manager.streams.info(streamName))
    .pipe(
      Effect.map(({ config, created }): FoundStream | undefined => ({ config, created })),
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.streamNotFound
          ? Effect.undefined
          : Effect.fail(connection.refused(`asking for the stream ${streamName}`, error)),
      ),
    )

/** Another node may make it at the same time: then that one counts. */
const makeStream = (
  connection: Connection,
  { stream: streamName, subjects, replicas }: StreamOptions,
): Effect.Effect<FoundStream, BusError> =>
  connection
    .attempt((manager) =>
      manager.streams.add({
        name: streamName,
        subjects: [subjects],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        num_replicas: replicas,
      }),
    )
    .pipe(
      Effect.map(({ config, created }): FoundStream => ({ config, created })),
      Effect.tap(() => Effect.logInfo(`made the stream ${streamName} at NATS`)),
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.streamNameInUse
          ? madeByAnother(connection, streamName)
          : Effect.flatMap(overlapping(connection, streamName, subjects, error), (other) =>
              Effect.fail(other),
            ),
      ),
    )

const madeByAnother = (connection: Connection, streamName: string): Effect.Effect<FoundStream, BusError> =>
  Effect.flatMap(findStream(connection, streamName), (stream) =>
    stream === undefined
      ? Effect.fail(new BusError({ message: `NATS: the stream ${streamName} was made and removed again.` }))
      : Effect.succeed(stream),
  )

/** Why the stream could not be made; one that has its subjects already is named. */
const overlapping = (
  connection: Connection,
  streamName: string,
  streamSubjects: string,
  error: unknown,
): Effect.Effect<BusError> => {
  const plain = connection.refused(`making the stream ${streamName}`, error)
  if (apiCodeOf(error) !== apiCodes.subjectsOverlap) return Effect.succeed(plain)
  return connection
    .attempt((manager) => manager.streams.names(streamSubjects).next())
    .pipe(
      Effect.map(
        (names) =>
          new BusError({
            message: `The stream ${streamName} over ${streamSubjects} cannot be made, because ${names.length === 0 ? "another stream" : `the stream ${names.join(", ")}`} holds subjects of it. Remove those subjects there, or name that stream ${streamName}.`,
            isPermanent: true,
          }),
      ),
      Effect.catch(() => Effect.succeed(plain)),
    )
}

const refuse = (what: string, contradictions: ReadonlyArray<string>): Effect.Effect<void, BusError> =>
  contradictions.length === 0
    ? Effect.void
    : Effect.fail(
        new BusError({
          message: `NATS: ${what} is set up in a way that breaks what the service promises. ${contradictions.join("; ")}. Change that, or remove it: then the service makes its own.`,
          isPermanent: true,
        }),
      )
