// The bus over NATS JetStream. One stream holds the messages of all tenants, one durable consumer is shared by all
// nodes of the service, and dead letters are messages of the same stream. What the broker calls things stays in
// this folder.

import { headers } from "@nats-io/transport-node"
import { encodeEnvelope, type SealedEnvelope } from "@punctual/api/Envelope"
import { Effect, Layer, Option } from "effect"
import { Bus, type BusError, type BusSample, PublishError, type Published } from "../../ports/Bus.ts"
import { WallClock } from "../../ports/WallClock.ts"
import type { IntakeOptions } from "../Intake.ts"
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
        const stream = yield* ensureStream(connection, options)
        for (const warning of streamWarnings(stream, options)) yield* Effect.logWarning(warning)
        const publisher = yield* NatsPublisher.make(connection, options.publishTimeoutMs)
        const deadLetters = new NatsDeadLetters(connection, publisher, stream.max_msg_size)
        return Bus.of({
          publish: (envelopes) => publishEnvelopes(publisher, envelopes),
          subscribe: (subscription) =>
            subscribeNats(connection, subscription, {
              intake: options.intake,
              bury: (burial) => deadLetters.bury(burial),
              setUp: Effect.andThen(
                ensureStream(connection, options),
                ensureConsumer(connection, subscription.topic, options.intake),
              ),
            }).pipe(Effect.provideService(WallClock, wallClock)),
          sample: sampler(connection, deadLetters),
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
  const head = headers()
  head.set("Nats-Msg-Id", envelope.id)
  head.set("tenantId", envelope.tenantId)
  head.set("serviceCallId", envelope.aggregateId)
  if (envelope.correlationId !== undefined) head.set("correlationId", envelope.correlationId)
  return { subject, headers: head, bytes: encodeEnvelope(envelope) }
}

/** While the broker cannot be asked, the lag is the one it told last. */
const sampler = (
  connection: Connection,
  deadLetters: NatsDeadLetters,
): Effect.Effect<BusSample, BusError> => {
  let lag = 0
  const ask = Effect.gen(function* () {
    lag = yield* lagOf(connection)
    const oldestDeadLetterAt = yield* deadLetters.oldestAt
    const sample: BusSample = { isConnected: true, lag }
    return oldestDeadLetterAt === undefined ? sample : { ...sample, oldestDeadLetterAt }
  })
  return Effect.suspend(() =>
    connection.isConnected
      ? Effect.map(
          Effect.timeoutOption(ask, sampleWithinMs),
          Option.getOrElse((): BusSample => ({ isConnected: connection.isConnected, lag })),
        )
      : Effect.succeed({ isConnected: false, lag }),
  )
}

/** What no delivery was made of yet, and what was delivered and not answered. */
const lagOf = (connection: Connection): Effect.Effect<number, BusError> =>
  connection
    .attempt((manager) => manager.consumers.info(streamName, consumerName))
    .pipe(
      Effect.map((info) => info.num_pending + info.num_ack_pending),
      Effect.catch((error) =>
        apiCodeOf(error) === apiCodes.consumerNotFound
          ? Effect.succeed(0)
          : Effect.fail(connection.refused("asking for the lag", error)),
      ),
    )
