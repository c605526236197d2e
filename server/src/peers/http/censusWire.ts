// What nodes ask each other about the counts of their census, as JSON.
import { mostNamespaceChoices, mostNamespacesMatched } from "@punctual/api/NamespaceChoices"
import { mostBuckets } from "@punctual/api/TimerHistogram"
import { Schema, SchemaParser } from "effect"
import type { CensusAnswer, CensusQuestion } from "../../ports/CensusCounts.ts"
import { type Decoded, decoded, strictly } from "./peerWire.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const CensusCall = Schema.Struct({
  names: Schema.optionalKey(
    Schema.Array(Schema.String).check(Schema.isMaxLength(mostNamespacesMatched + mostNamespaceChoices)),
  ),
  from: Schema.Int,
  until: Schema.Int,
  buckets: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostBuckets })),
})

/** Nothing is counted if the field is absent. */
const CensusReply = Schema.Struct({
  counted: Schema.optionalKey(
    Schema.Struct({
      counts: Schema.Array(Count).check(Schema.isMaxLength(mostBuckets)),
      asOfMs: Schema.Int,
      lacksSome: Schema.Boolean,
      countedUntilMs: Schema.optionalKey(Schema.Int),
    }),
  ),
})

const decodeCall = SchemaParser.decodeUnknownResult(CensusCall, strictly)
const decodeReply = SchemaParser.decodeUnknownResult(CensusReply, strictly)

export const encodeCensusCall = ({ names, from, until, buckets }: CensusQuestion): string =>
  JSON.stringify({ ...(names === undefined ? {} : { names }), from, until, buckets })

export const decodeCensusCall = (text: string): Decoded<CensusQuestion> =>
  decoded(decodeCall, text, (question) => question)

export const encodeCensusReply = (counted: CensusAnswer | undefined): string => JSON.stringify({ counted })

export const decodeCensusReply = (text: string): Decoded<CensusAnswer | undefined> =>
  decoded(decodeReply, text, ({ counted }) => counted)
