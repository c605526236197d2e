// Which work a message belongs to and which message caused it. Both travel in the Effect context, so that what a
// handler calls need not be handed them: a bus provides them around each handler. What time itself causes, such as a
// reminder that has come due, names no cause.
import type { CorrelationId } from "@punctual/api/CorrelationId"
import { Context } from "effect"

export interface Metadata {
  readonly correlationId?: CorrelationId
  readonly causationId?: CorrelationId
}

export const MessageMetadata = Context.Reference<Metadata>("punctual/bus/MessageMetadata", {
  defaultValue: () => ({}),
})
