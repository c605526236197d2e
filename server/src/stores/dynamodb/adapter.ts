// DynamoDB as a store: three tables of one AWS account and region, which several nodes share.
import { type DynamoPlace, dynamoForm, dynamoUrlShown, parseDynamoUrl } from "@punctual/aws/dynamoUrl"
import { serverAdapter } from "../serverAdapter.ts"
import { shardsByDefault } from "./limits.ts"

export const dynamodb = serverAdapter<DynamoPlace>({
  name: "dynamodb",
  schemes: ["dynamodb:"],
  forms: { [dynamoForm]: "tables of DynamoDB, which nodes can share" },
  shards: { byDefault: shardsByDefault, fewest: 1 },
  parse: parseDynamoUrl,
  shown: dynamoUrlShown,
  open: async (place, opening) => (await import("./DynamoStore.ts")).DynamoStore.layer({ ...opening, place }),
  keep: async (place) => (await import("./dynamoKeeper.ts")).dynamoKeeper(place),
  tools: () => ({
    product: "DynamoDB",
    backup:
      "AWS: point-in-time recovery, or an on-demand backup of all three tables while every service is stopped",
    restore: "AWS, all three tables to the same instant and under a new prefix",
  }),
})
