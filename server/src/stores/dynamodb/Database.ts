// What every part of the store needs to know: the tables, the number of shards, and how long history is kept.
import type { DynamoTables } from "@punctual/aws/DynamoTables"
import type { TableNames } from "./keys.ts"
import { neverSeconds } from "./limits.ts"

export interface Database {
  readonly tables: DynamoTables
  readonly names: TableNames
  readonly shards: number
  /** Absent for commands: what they write does not expire by itself. */
  readonly historyRetentionMs?: number
}

/** When DynamoDB may remove a life, in seconds, as it counts. Dead letters stay. */
export const expiryOf = (
  { historyRetentionMs }: Pick<Database, "historyRetentionMs">,
  life: { readonly state: string; readonly finishedAt: number },
): number | undefined => {
  if (historyRetentionMs === undefined || life.state === "dead") return undefined
  const seconds = Math.ceil((life.finishedAt + historyRetentionMs) / 1_000)
  return Math.min(Math.max(seconds, 1), neverSeconds)
}
