/**
 * The id of what a message is about, such as one order or one call. The rule is that of all ids that callers choose.
 */
import { idMessage, whyNotId } from "@punctual/api/TimerId"
import { Schema } from "effect"

export const AggregateId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      description: "What the message is about. Messages about the same thing stay in order.",
    }),
  )
  .pipe(Schema.brand("AggregateId"))

export type AggregateId = typeof AggregateId.Type
