/**
 * The id of the subject of a message, such as one order or one call. It follows the rule for every id that callers
 * choose.
 */
import { idMessage, whyNotId } from "@punctual/api/TimerId"
import { Schema } from "effect"

export const AggregateId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, { description: "What the message is about: messages of one stay in order." }),
  )
  .pipe(Schema.brand("AggregateId"))

export type AggregateId = typeof AggregateId.Type
