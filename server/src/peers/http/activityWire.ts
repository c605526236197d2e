// What a node tells another one about the activity that it has counted and not stored yet, as JSON.
import { Schema, SchemaParser } from "effect"
import { activityRecordOf } from "../../domain/ActivityRecord.ts"
import type { UnstoredActivity } from "../../ports/PeerActivity.ts"
import { type Decoded, decoded, strictly, WireMismatch } from "./peerWire.ts"

const ActivityReply = Schema.Struct({
  process: Schema.String,
  records: Schema.Array(Schema.Unknown).check(Schema.isMaxLength(100)),
})

const decodeReply = SchemaParser.decodeUnknownResult(ActivityReply, strictly)

export const encodeActivityReply = (unstored: UnstoredActivity): string => JSON.stringify(unstored)

export const decodeActivityReply = (text: string): Decoded<UnstoredActivity> =>
  decoded(decodeReply, text, ({ process, records }) => ({
    process,
    records: records.map((value, place) => {
      const record = activityRecordOf(value)
      if (record === undefined) throw new WireMismatch(`the record ${place} is malformed`)
      return record
    }),
  }))
