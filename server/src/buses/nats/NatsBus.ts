// The bus over NATS JetStream. One stream holds the messages of all tenants, one durable consumer is shared by all
// nodes of the service, and dead letters are messages of the same stream. What the broker calls things stays in
// this folder.

import { encodeEnvelope, type SealedEnvelope } from "@punctual/api/Envelope"
import { Effect, Layer } from "effect"
import { type ConsumerInfo, MsgHdrsImpl } from "../../../../drivers/nats/nats.ts"
import { Bus, type BusError, type BusSample, PublishError, type Published } from "../../ports/Bus.ts"
import { WallClock } from "../../ports/WallClock.ts"
import type { IntakeOptions } from "../Intake.ts"
import { AckFloor } from "./AckFloor.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import { Connection, type ConnectionSettings } from "./Connection.ts"
import { NatsDeadLetters } from "./NatsDeadLetters.ts"
import { NatsPublisher, type Outgoing } from "./NatsPublisher.ts"
import { subscribeNats } from "./NatsSubscription.ts"
import { streamName, subjectOf } from "./Routing.ts"
import {
  consumerName,
  ensureConsumer,
  ensureStream,
  type StreamOptions,
  streamWarnings,
} from "./StreamSetup.ts"

export interface NatsOptions extends ConnectionSettings, StreamOptions {
  readonly intake: IntakeOptions
  /** How long a publish waits for the connection and for the broker's answer. */
  readonly publishTimeoutMs: number
}

const sampleWithinMs = 2_000

export const NatsBus = {
  layer: (options: NatsOptions): Layer.Layer<Bus, BusError, WallClock> =>
    Layer.effect(
      Bus,
      Effect.gen(function* () {
        const wallClock = yield* WallClock
        const connection = yield* Connection.open(options)
        const { config } = yield* ensureStream(connection, options)
        for (const warning of streamWarnings(config, options)) yield* Effect.logWarning(warning)
        const publisher = yield* NatsPublisher.make(connection, options.publishTimeoutMs)
        const deadLetters = new NatsDeadLetters(connection, publisher, config.max_msg_size)
        const floor = new AckFloor()
        return Bus.of({
          publish: (envelopes) => publishEnvelopes(publisher, envelopes),
          subscribe: (subscription) =>
            subscribeNats(connection, subscription, {
              intake: options.intake,
              bury: (burial) => deadLetters.bury(burial),
              setUp: Effect.flatMap(ensureStream(connection, options), (stream) =>
                ensureConsumer(connection, subscription.topic, options.intake, stream, floor),
              ),
            }).pipe(
              Effect.provideService(WallClock, wallClock),
              Effect.andThen(Effect.forkScoped(keepNoting(connection, floor))),
              Effect.asVoid,
            ),
          sample: sampler(connection, deadLetters, floor),
          deadLetters,
        })
      }),
    ),
} as const

const publishEnvelopes = (
  publisher: NatsPublisher,
  envelopes: ReadonlyArray<SealedEnvelope>,
): Effect.Effect<ReadonlyArray<Published>, PublishError> =>
  Effect.suspend(() => {
    const outgoing: Array<Outgoing> = []
    for (const envelope of envelopes) {
      const message = outgoingOf(envelope)
      if (message instanceof PublishError) return Effect.fail(message)
      outgoing.push(message)
    }
    return publisher.publish(outgoing)
  })

const outgoingOf = (envelope: SealedEnvelope): Outgoing | PublishError => {
  const subject = subjectOf(envelope.type, envelope.tenantId)
  if (subject === undefined) {
    return new PublishError({
      message: `${JSON.stringify(envelope.tenantId)} is no tenant: a message for it has no address.`,
      isPermanent: true,
    })
  }
  const { id, tenantId, aggregateId, correlationId } = envelope
  if (lineBreak.test(`${id}${aggregateId}${correlationId}`)) {
    return new PublishError({
      message: "A message's ids have a line break, which would begin another header.",
      isPermanent: true,
    })
  }
  // Not set one by one: the client would search and copy for each, and that is an eighth of all a publish costs.
  const head = MsgHdrsImpl.fromRecord({
    "Nats-Msg-Id": [id],
    tenantId: [tenantId],
    serviceCallId: [aggregateId],
    ...(correlationId === undefined ? {} : { correlationId: [correlationId] }),
  })
  return { subject, headers: head, bytes: encodeEnvelope(envelope) }
}

const lineBreak = /[\r\n]/

const noteEveryMs = 30_000

/** For ever; what cannot be asked now is asked the next time. */
const keepNoting = (connection: Connection, floor: AckFloor): Effect.Effect<never> =>
  Effect.sleep(noteEveryMs).pipe(
    Effect.andThen(connection.attempt((manager) => manager.consumers.info(streamName, consumerName))),
    Effect.map((info) => floor.note(info)),
    Effect.ignore,
    Effect.forever,
  )

/**
 * While the broker cannot be asked, all is as it told last: dead letters are not gone because it is. Older servers
 * look for the oldest of them message by message, and keep others waiting meanwhile: so it is looked for from where
 * it was found last, or from where there was none yet.
 */
const sampler = (
  connection: Connection,
  deadLetters: NatsDeadLetters,
  floor: AckFloor,
): Effect.Effect<BusSample, BusError> => {
  let told: Omit<BusSample, "isConnected"> = { lag: 0 }
  let consumerCreated: string | undefined
  let searchFrom = 1
  const ask = Effect.gen(function* () {
    const info = yield* consumerInfo(connection)
    if (info !== undefined) floor.note(info)
    // Another consumer may be one of another stream, where the places mean other messages.
    if (info?.created !== consumerCreated) searchFrom = 1
    consumerCreated = info?.created
    const oldest = yield* deadLetters.oldestFrom(searchFrom)
    searchFrom = oldest?.sequence ?? Math.max(searchFrom, (info?.delivered.stream_seq ?? 0) + 1)
    // What no delivery was made of yet, and what was delivered and not answered.
    const lag = info === undefined ? 0 : info.num_pending + info.num_ack_pending
    told = oldest === undefined ? { lag } : { lag, oldestDeadLetterAt: oldest.diedAt }
  })
  return Effect.suspend(() =>
    connection.isConnected ? Effect.timeoutOption(ask, sampleWithinMs) : Effect.void,
  ).pipe(Effect.map(() => ({ isConnected: connection.isConnected, ...told })))
}

/** Nothing if there is no consumer. */
const consumerInfo = (connection: Connection): Effect.Effect<ConsumerInfo | undefined, BusError> =>
  connection
    .attempt((manager) => manager.consumers.info(streamName, consumerName))
    .pipe(
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.consumerNotFound
          ? Effect.undefined
          : Effect.fail(connection.refused("asking for the lag", error)),
      ),
    )
