// Which work a message belongs to and which message caused it. Both travel in the Effect context, so that a
// handler that publishes in its turn need not carry them by hand: a bus provides them around each handler, and
// whoever encloses a message reads them. What time itself causes, such as a timer that fires, names no cause.
import type { CorrelationId } from "@punctual/api/CorrelationId"
import type { SealedEnvelope } from "@punctual/api/Envelope"
import { Context, Effect } from "effect"

export interface Metadata {
  readonly correlationId?: CorrelationId
  readonly causationId?: CorrelationId
}

export const MessageMetadata = Context.Reference<Metadata>("punctual/ports/MessageMetadata", {
  defaultValue: () => ({}),
})

/** The message in its envelope, with the metadata of the work at hand. */
export const enclose = (
  message: Omit<SealedEnvelope, "correlationId" | "causationId">,
): Effect.Effect<SealedEnvelope> =>
  Effect.map(MessageMetadata, ({ correlationId, causationId }) => ({
    ...message,
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(causationId === undefined ? {} : { causationId }),
  }))
