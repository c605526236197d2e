// Where items are. The table of timers has one item for each key, under (shard, namespace/timerId). Two indexes of the
// same partition put pending timers in order: `due`, and `ns_due` within a namespace. Both keys are texts that sort like
// the values that they are made of.
//
// The table of history has three kinds of items, under (pk, sk):
//   L#uuid             fireId                    a finished life
//   E#shard#state      namespace/time entry      its place in the order of ends
//   W#namespace#state#word   time fireId/uuid   a row of the index of words
//
// The table of control has the fences, leases, members, names of namespaces and documents.
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import type { ItemPlace } from "@punctual/aws/DynamoTables"
import { padded, timeText } from "@punctual/aws/sortableTime"
import type { FinishedState, Timer, TimerKey } from "../../domain/Timer.ts"
import { keyOf, shardOf } from "../../domain/TimerKey.ts"
import type { WordRow } from "../../domain/words.ts"

export interface TableNames {
  readonly timers: string
  readonly history: string
  readonly control: string
}

export const tableNamesOf = (prefix: string): TableNames => ({
  timers: `${prefix}-timers`,
  history: `${prefix}-history`,
  control: `${prefix}-control`,
})

export const prefixOf = (namespace: string): string => `${namespace}/`

export const itemIdOf = ({ namespace, timerId }: Pick<TimerKey, "namespace" | "timerId">): string =>
  `${prefixOf(namespace)}${timerId}`

/** The uuid follows from the names. */
export const keyOfText = (text: string): TimerKey => {
  const slash = text.indexOf("/")
  return keyOf(text.slice(0, slash), text.slice(slash + 1))
}

export const dueText = ({ fireAt, fireId }: Pick<Timer, "fireAt" | "fireId">): string =>
  `${timeText(fireAt)}${fireId}`

export const keyPlace = (tables: TableNames, shard: number, key: TimerKey): ItemPlace => ({
  table: tables.timers,
  key: { shard, id: itemIdOf(key) },
})

export const placeOfKey = (tables: TableNames, shards: number, key: TimerKey): ItemPlace =>
  keyPlace(tables, shardOf(key.uuid, shards), key)

export const livesOf = (uuid: string): string => `L#${uuid}`

export const lifePlace = (tables: TableNames, uuid: string, fireId: string): ItemPlace => ({
  table: tables.history,
  key: { pk: livesOf(uuid), sk: fireId },
})

export const endsOf = (shard: number, state: FinishedState): string => `E#${shard}#${state}`

export const endKey = (
  shard: number,
  life: { readonly namespace: string; readonly state: FinishedState; readonly finishedAt: number },
  entry: number,
): DynamoItem => ({
  pk: endsOf(shard, life.state),
  sk: `${prefixOf(life.namespace)}${timeText(life.finishedAt)}${padded(entry)}`,
})

export const wordsOf = (namespace: string, state: WordRow["state"], word: string): string =>
  `W#${namespace}#${state}#${word}`

/** Two keys may have the same fireId, if they were restored. */
export const wordKey = ({ namespace, uuid }: TimerKey, row: WordRow): DynamoItem => ({
  pk: wordsOf(namespace, row.state, row.word),
  sk: `${dueText({ fireAt: row.atMs, fireId: row.fireId })}/${uuid}`,
})

/** Fences have partitions of their own, because each of their writes counts towards the limit of a partition. */
export const fencePlace = ({ control }: TableNames, shard: number): ItemPlace => ({
  table: control,
  key: { pk: `fence#${shard}`, sk: "-" },
})

/** What inserts without an owner add to the tally of the shard. */
export const insertedPlace = ({ control }: TableNames, shard: number): ItemPlace => ({
  table: control,
  key: { pk: `inserted#${shard}`, sk: "-" },
})

export const leasesPlace = ({ control }: TableNames): ItemPlace => ({
  table: control,
  key: { pk: "leases", sk: "-" },
})

/** The counters of inserts without an owner, by shard. */
export const foreignPlace = ({ control }: TableNames): ItemPlace => ({
  table: control,
  key: { pk: "foreign", sk: "-" },
})

export const schemaPlace = ({ control }: TableNames): ItemPlace => ({
  table: control,
  key: { pk: "schema", sk: "-" },
})
