// Creates the stream and the consumer on the broker if they are missing, and never changes existing ones. An operator
// may have set them up differently. If the difference is harmless, nothing happens. If it is risky, a warning is
// logged. If it would break a promise, the start fails, and the error names each setting with its value and the
// required value.

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
import type { IntakeOptions } from "../IntakeOptions.ts"
import type { AckFloor } from "./AckFloor.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import type { Connection } from "./Connection.ts"

export interface StreamOptions {
  /** The stream that holds all messages, and the subjects that it holds. */
  readonly stream: string
  readonly subjects: string
  /** The replicas of the stream, if it must be created. */
  readonly replicas: number
  /** The operator states that the server syncs every write to disk. */
  readonly isSynced: boolean
  /** The setting with which the operator states that; the warning names it. */
  readonly syncSetting: string
}

/** The durable consumer that all members of a group share. It has the group's name. */
export interface ConsumerOptions {
  readonly group: string
  /** The subjects that it reads. */
  readonly subjects: string
  readonly intake: IntakeOptions
}

/** The most that one pull requests, and how long a pull waits. */
export const largestPull = 256
export const pullExpiresMs = 30_000

/** How many unanswered messages the consumer may have, in multiples of what one node holds. */
const pendingPerHeld = 10

/** The settings that the checks look at. The broker reports more. */
export type StreamFacts = Partial<StreamConfig>
export type ConsumerFacts = Partial<ConsumerConfig>

/** An existing stream. */
export interface FoundStream {
  readonly config: StreamFacts
  /** Distinguishes the stream from another one with the same name. */
  readonly created: string
}

/** Creates the stream, or checks the existing one. */
export const ensureStream = Effect.fn("StreamSetup.ensureStream")(function* (
  connection: Connection,
  options: StreamOptions,
): Effect.fn.Return<FoundStream, BusError> {
  const existing = yield* findStream(connection, options.stream)
  const stream = existing ?? (yield* makeStream(connection, options))
  yield* refuse(`the stream ${options.stream}`, streamContradictions(stream.config, options))
  return stream
})

/** Creates the consumer, starting where the last one ended, or checks the existing one. */
export const ensureConsumer = Effect.fn("StreamSetup.ensureConsumer")(function* (
  connection: Connection,
  streamName: string,
  options: ConsumerOptions,
  stream: FoundStream,
  floor: AckFloor,
): Effect.fn.Return<void, BusError> {
  const { group } = options
  // Asks first, because an older server treats the creation of an existing consumer as a change.
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
    const made = yield* connection.ask(`creating the consumer ${group}`, (manager) =>
      manager.consumers.add(streamName, { ...consumerConfig(options), ...startingAt(first) }),
    )
    floor.follow(stream.created, made)
    const from = first === 1 ? "" : `, starting at message ${first}`
    yield* Effect.logInfo(`created the consumer ${group} of the stream ${streamName} at NATS${from}`)
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
  // Messages that wait for a retry count as well, and must not keep other messages from being delivered.
  max_ack_pending: intake.heldAtMost * pendingPerHeld,
})

/** The settings that break a promise of the bus, one sentence each. */
export const streamContradictions = (
  config: StreamFacts,
  { subjects }: Pick<StreamOptions, "subjects">,
): ReadonlyArray<string> =>
  [
    config.mirror !== undefined &&
      "mirror is set: it must be absent, because the service needs a stream of its own",
    !coversAll(config.subjects ?? [], subjects) &&
      config.mirror === undefined &&
      `subjects is ${JSON.stringify(config.subjects ?? [])}: it must hold "${subjects}"`,
    config.retention !== undefined &&
      config.retention !== RetentionPolicy.Limits &&
      `retention is "${config.retention}": it must be "limits", or messages are removed before other groups read them`,
    config.no_ack === true &&
      "no_ack is true: it must be false, or the broker does not confirm what it stored",
    config.sealed === true && "sealed is true: it must be false, or nothing can be published",
    (config.max_msgs_per_subject ?? -1) > 0 &&
      `max_msgs_per_subject is ${config.max_msgs_per_subject}: it must be -1, or new messages of a tenant remove its old ones`,
    config.deny_delete === true &&
      "deny_delete is true: it must be false, or undeliverable messages can be neither replayed nor discarded",
  ].filter((contradiction) => contradiction !== false)

/** What an operator should know, one sentence each. */
export const streamWarnings = (
  config: StreamFacts,
  { stream: streamName, isSynced, syncSetting }: Omit<StreamOptions, "replicas" | "subjects">,
): ReadonlyArray<string> => {
  const limits = (["max_age", "max_msgs", "max_bytes"] as const).filter((limit) => (config[limit] ?? 0) > 0)
  const isDiscardingOld = config.discard !== "new" || limits.includes("max_age")
  return [
    limits.length > 0 &&
      isDiscardingOld &&
      `the stream ${streamName} has ${limits.join(" and ")}: when a limit is reached, the broker drops messages, even unread ones`,
    config.storage === StorageType.Memory &&
      `the stream ${streamName} is kept in memory: a restart of the broker loses its messages`,
    config.storage !== StorageType.Memory &&
      (config.num_replicas ?? 1) === 1 &&
      !isSynced &&
      `the stream ${streamName} has one replica: if the broker's machine fails, acknowledged messages of the last minutes can be lost. Either give it 3 replicas, or set sync_interval: always at the server and ${syncSetting} here (a server older than 2.10 cannot)`,
  ].filter((warning) => warning !== false)
}

/** The settings that break a promise of the bus, one sentence each. */
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
      `deliver_subject is "${config.deliver_subject}": it must be absent, because the service pulls`,
    config.ack_policy !== AckPolicy.Explicit && `ack_policy is "${config.ack_policy}": it must be "explicit"`,
    (config.backoff ?? []).length > 0 &&
      "backoff is set: it must be absent, because it overrides ack_wait, and the service sets its own delays",
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
      `inactive_threshold is ${millis(config.inactive_threshold ?? 0)} ms: it must be absent, or the broker removes the consumer while the service is down, and delivers every message again`,
    config.mem_storage === true &&
      "mem_storage is true: it must be false, or a restart of the broker loses the acknowledgements, and it delivers every message again",
    (config.max_batch ?? 0) > 0 &&
      (config.max_batch ?? 0) < largestPull &&
      `max_batch is ${config.max_batch}: it must be absent, or at least ${largestPull}`,
    (config.max_expires ?? 0) > 0 &&
      millis(config.max_expires ?? 0) < pullExpiresMs &&
      `max_expires is ${millis(config.max_expires ?? 0)} ms: it must be absent, or at least ${pullExpiresMs} ms`,
    (config.max_bytes ?? 0) > 0 &&
      `max_bytes is ${config.max_bytes}: it must be absent, or messages larger than that are never pulled`,
    config.headers_only === true &&
      "headers_only is true: it must be false, or messages are delivered without content",
    config.replay_policy === ReplayPolicy.Original &&
      `replay_policy is "original": it must be "instant", or the broker delays messages`,
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

/** Another node may create the stream at the same time. Then its stream is used. */
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
      Effect.tap(() => Effect.logInfo(`created the stream ${streamName} at NATS`)),
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
      ? Effect.fail(new BusError({ message: `NATS: the stream ${streamName} was created and then removed.` }))
      : Effect.succeed(stream),
  )

/** Why the stream could not be created. If another stream already has its subjects, the error names that stream. */
const overlapping = (
  connection: Connection,
  streamName: string,
  streamSubjects: string,
  error: unknown,
): Effect.Effect<BusError> => {
  const plain = connection.refused(`creating the stream ${streamName}`, error)
  if (apiCodeOf(error) !== apiCodes.subjectsOverlap) return Effect.succeed(plain)
  return connection
    .attempt((manager) => manager.streams.names(streamSubjects).next())
    .pipe(
      Effect.map(
        (names) =>
          new BusError({
            message: `The stream ${streamName} over ${streamSubjects} cannot be created, because ${names.length === 0 ? "another stream" : `the stream ${names.join(", ")}`} already holds some of these subjects. Remove those subjects there, or name that stream ${streamName}.`,
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
          message: `NATS: ${what} has settings that break the promises of the service. ${contradictions.join("; ")}. Change these settings, or remove it, and the service creates its own.`,
          isPermanent: true,
        }),
      )
