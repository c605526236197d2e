// Delivers a timer as a DueTimeReached on the bus. The timer is delivered when the broker has the event, and only then
// the store records it. A crash between the two repeats the event with the same id. The other order would lose the
// event.
import type { CorrelationId } from "@punctual/api/CorrelationId"
import { dueTimeReachedJson, dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { formatInstant } from "@punctual/api/Instant"
import type { Namespace } from "@punctual/api/Namespace"
import type { TimerId } from "@punctual/api/TimerId"
import type { AggregateId } from "@punctual/bus/AggregateId"
import type { Audience, Bus, PublishError } from "@punctual/bus/Bus"
import type { MessageType, OutgoingEnvelope } from "@punctual/bus/Envelope"
import type { EnvelopeId } from "@punctual/bus/EnvelopeId"
import { Effect } from "effect"
import type { Death } from "../../domain/Timer.ts"
import type { Deliverer, Delivery, Fire, Presence } from "../../ports/Deliverer.ts"
import { deadType, deathJson, fireOfDead } from "../deathJson.ts"

export const makeEventDeliverer = (bus: Bus["Service"]): Deliverer => ({
  deliver: (fire, onSent) =>
    Effect.suspend(() => {
      onSent?.()
      const published = bus.publish([dueTimeReached(fire)])
      return Effect.match(published, { onSuccess: () => delivered, onFailure: deliveryOf })
    }),
  hostOf: () => "bus",
  ...(bus.audience === undefined ? {} : { presence: presenceOf(bus.audience) }),
})

/** If only this process can subscribe, timers wait until there is a subscriber, and use up no attempts. */
const presenceOf = (audience: Audience): Presence => ({
  isThere: () => audience.hears(dueTimeReachedType),
  absence: {
    reason: "noSubscriber",
    detail: `Nobody subscribes to ${dueTimeReachedType}. Events need a broker, but TIMER_BROKER_URL is local:.`,
  },
  onArrival: (listener) => audience.onArrival(listener),
})

/**
 * The event has the correlation id of the timer but no causing message, because time caused it. The schemas of the
 * contract have already checked the ids of the timer.
 */
const dueTimeReached = (fire: Fire): OutgoingEnvelope => {
  const tenantId = fire.namespace as Namespace
  const serviceCallId = fire.timerId as TimerId
  const payloadJson = fire.death === undefined ? payloadOf(fire) : deadJson(fire, fire.death)
  return {
    // The broker drops repeats by this id.
    id: fire.fireId as EnvelopeId,
    type: dueTimeReachedType as MessageType,
    tenantId,
    aggregateId: fire.timerId as AggregateId,
    timestampMs: fire.firedAt,
    correlationId: fire.correlationId as CorrelationId,
    payloadJson: dueTimeReachedJson({ tenantId, serviceCallId, reachedAt: fire.firedAt }, payloadJson),
  }
}

const payloadOf = ({ payload }: Fire): string | undefined =>
  payload === undefined ? undefined : decoder.decode(payload)

/** The event of a notice is a DueTimeReached like any other. Its payload says which timer is dead, and how it ended. */
const deadJson = (fire: Fire, death: Death): string => {
  const { namespace, timerId, fireId, revision, executeAt, correlationId, tags } = fireOfDead(fire, death)
  const head = JSON.stringify({
    type: deadType,
    namespace,
    timerId,
    fireId,
    revision,
    executeAt: formatInstant(executeAt),
    correlationId,
    ...(tags === undefined ? {} : { tags }),
  })
  const payload = payloadOf(fire)
  const callers = payload === undefined ? "" : `,"payload":${payload}`
  return `${head.slice(0, -1)}${deathJson(death)}${callers}}`
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** A repeat that the broker drops also counts as delivered. */
const delivered: Delivery = { kind: "delivered" }

const deliveryOf = (error: PublishError): Delivery =>
  error.isPermanent
    ? { kind: "dead", reason: "refused", error: error.message.slice(0, errorChars) }
    : { kind: "retry", error: error.message.slice(0, errorChars), isHostFailure: true }

const errorChars = 200
