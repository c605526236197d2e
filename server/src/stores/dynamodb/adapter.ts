// DynamoDB as a store: three tables of one AWS account and region, which several nodes share. Tasks that AWS does better
// are refused, and the error names what to use.

import { type DynamoPlace, dynamoForm, dynamoUrlShown, parseDynamoUrl } from "@punctual/aws/dynamoUrl"
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import { shardsByDefault } from "./limits.ts"

export const dynamodb: StoreAdapter = {
  name: "dynamodb",
  schemes: ["dynamodb:"],
  forms: { [dynamoForm]: "tables of DynamoDB, which nodes can share" },
  isShared: true,
  shards: { byDefault: shardsByDefault, fewest: 1 },
  parse: (given) => {
    const parsed = parseDynamoUrl(given)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, dynamoUrlShown(given)) }
  },
  shown: dynamoUrlShown,
}

const choiceOf = (place: DynamoPlace, shown: string): StoreChoice => ({
  adapter: dynamodb,
  shown,
  place: shown,
  open: (opening) => layerOf(place, opening),
  offline: { can: (opening) => layerOf(place, opening) },
  archive: {
    can: () =>
      Effect.flatMap(
        Effect.promise(() => import("./DynamoArchive.ts")),
        ({ DynamoArchive }) => DynamoArchive.open(place),
      ),
  },
  documents: { can: () => Effect.flatMap(keeper, ({ DynamoKeeper }) => DynamoKeeper.documents(place)) },
  doctor: { can: () => Effect.flatMap(keeper, ({ DynamoKeeper }) => DynamoKeeper.examination(place)) },
  migrate: {
    can: ({ shards }) => Effect.flatMap(keeper, ({ DynamoKeeper }) => DynamoKeeper.schema(place, shards)),
  },
  backup: {
    instead:
      "a store on DynamoDB is backed up with AWS: point-in-time recovery, or an on-demand backup of all three tables while every service is stopped. To copy timers to another store, use punctual export.",
  },
  restore: {
    instead:
      "a store on DynamoDB is restored with AWS, all three tables to the same instant and under a new prefix, with every service stopped. Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
  },
})

const layerOf = (place: DynamoPlace, opening: StoreOpening): StoreLayer => {
  const { shards, historyRetentionMs, connections, onFatal } = opening
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./DynamoStore.ts")),
      ({ DynamoStore }) =>
        DynamoStore.layer({
          place,
          shards,
          ...(historyRetentionMs === undefined ? {} : { historyRetentionMs }),
          ...(connections === undefined ? {} : { connections }),
          ...(onFatal === undefined ? {} : { onFatal }),
        }),
    ),
  )
}

const keeper = Effect.promise(() => import("./DynamoKeeper.ts"))
