// The work that a message belongs to, and the message that caused it. Both travel in the Effect context, so that
// functions called by a handler need no extra arguments. A bus provides them around each handler. A message that is
// triggered by time, such as a due reminder, has no cause.
import type { CorrelationId } from "@punctual/api/CorrelationId"
import { Context } from "effect"

export interface Metadata {
  readonly correlationId?: CorrelationId
  readonly causationId?: CorrelationId
}

export const MessageMetadata = Context.Reference<Metadata>("punctual/bus/MessageMetadata", {
  defaultValue: () => ({}),
})
