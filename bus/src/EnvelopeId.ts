/**
 * The id of a message, by which brokers drop repeats. Ours are UUID v7, so that they sort by time. Ids of other senders
 * may be UUIDs of any version, because the bus only needs them to be distinct.
 */
import { Schema } from "effect"

const envelopeIdMessage = "must be a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057"

export const EnvelopeId = Schema.String.annotate({ message: envelopeIdMessage })
  .check(
    Schema.isPattern(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, {
      message: envelopeIdMessage,
      description: "The id of the message: a UUID, made by its sender.",
      examples: ["01890a5d-ac96-774b-bcce-b302099a8057"],
    }),
  )
  .pipe(Schema.brand("EnvelopeId"))

export type EnvelopeId = typeof EnvelopeId.Type
