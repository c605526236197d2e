// What a node tells another one about the lags of its shards, as JSON.
import { Schema, SchemaParser } from "effect"
import type { ShardLag } from "../../ports/ShardLags.ts"
import { type Decoded, decoded, itemsMax, strictly } from "./peerWire.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const LagsReply = Schema.Struct({
  lags: Schema.Array(Schema.Struct({ shard: Count, epoch: Count, lagMs: Count })).check(
    Schema.isMaxLength(itemsMax),
  ),
})

const decodeReply = SchemaParser.decodeUnknownResult(LagsReply, strictly)

export const encodeLagsReply = (lags: ReadonlyArray<ShardLag>): string => JSON.stringify({ lags })

export const decodeLagsReply = (text: string): Decoded<ReadonlyArray<ShardLag>> =>
  decoded(decodeReply, text, ({ lags }) => lags)
