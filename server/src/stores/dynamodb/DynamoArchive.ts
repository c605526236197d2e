// Reads a whole store for an archive. DynamoDB has no snapshots, so the archive proves instead that nothing has changed
// since it was opened: every write of a timer raises the number of a fence or a count of inserts. If it finds a later
// write, it fails, and nothing that it has read counts.

import { taggedItem } from "@punctual/aws/DynamoItem"
import type { DynamoPlace } from "@punctual/aws/dynamoUrl"
import { changeOf } from "@punctual/documents/DocumentRow"
import { DynamoDocuments } from "@punctual/documents/dynamodb/DynamoDocuments"
import type { Effect } from "effect"
import type { ArchivedItem } from "../../domain/WriteItem.ts"
import type { ArchivePage, ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { archivePage } from "../archivePage.ts"
import type { Database } from "./Database.ts"
import { callsOf, type DynamoOpenError, opening, tablesAt } from "./DynamoStore.ts"
import { fencePlace, insertedPlace } from "./keys.ts"
import { openExisting } from "./openTables.ts"
import { lifeOf, timerOf } from "./rows.ts"

const changedMeanwhile =
  "The store was written to while it was exported, so the export is not complete. DynamoDB has no snapshots: stop all services, then export again."

export const DynamoArchive = {
  open: (place: DynamoPlace): Effect.Effect<TimerArchive, DynamoOpenError> =>
    opening(async () => {
      const tables = tablesAt(place)
      const { names, shards } = await openExisting(tables, place.prefix)
      const database = { tables, names, shards }
      const documents = new DynamoDocuments(tables, names.control)
      const [state, version] = await Promise.all([stateOf(database), documents.version()])
      const calling = callsOf(() => {})
      return {
        shards,
        page: (after, limit) => calling(() => readPage(database, state, after, limit)),
        documents: (kind, exclusiveAfterVersion, limit) =>
          calling(async () => {
            const rows = await documents.changesAfter(kind, exclusiveAfterVersion, limit)
            const [later] = await documents.changesAfter(kind, version, 1)
            if (later !== undefined) throw new Error(changedMeanwhile)
            return rows.map(changeOf)
          }),
      }
    }),
} as const

/** Changes with every write of a timer or a life. */
const stateOf = async ({ tables, names, shards }: Database): Promise<string> => {
  const all = Array.from({ length: shards }, (_, shard) => [
    fencePlace(names, shard),
    insertedPlace(names, shard),
  ])
  const items = await tables.getAll(
    names.control,
    all.flat().map(({ key }) => key),
  )
  return items
    .map(({ pk, epoch = 0, number = 0, created = 0 }) => `${pk} ${epoch} ${number} ${created}`)
    .sort()
    .join("\n")
}

const readPage = async (
  database: Database,
  state: string,
  after: ArchivePlace | undefined,
  limit: number,
): Promise<ArchivePage> => {
  const { tables, names } = database
  const part = after?.part ?? "pending"
  const isPending = part === "pending"
  const [hash, range] = isPending ? ["shard", "id"] : ["pk", "sk"]
  const [first, second] = after?.key ?? []
  const from =
    first === undefined || second === undefined ? undefined : taggedItem({ [hash]: first, [range]: second })
  const { items, next } = await tables.tablePage(isPending ? names.timers : names.history, limit, from)
  if ((await stateOf(database)) !== state) throw new Error(changedMeanwhile)
  const found = items.flatMap((item): ReadonlyArray<ArchivedItem> => {
    if (isPending) {
      const timer = timerOf(item)
      return timer === undefined ? [] : [{ kind: "pending", timer }]
    }
    return String(item["pk"]).startsWith("L#") ? [{ kind: "ended", life: lifeOf(item) }] : []
  })
  const last = next === undefined ? undefined : keyOfLast(next, hash, range)
  if (last !== undefined) return archivePage(found, { part, key: last })
  return archivePage(found, isPending ? { part: "history", key: [] } : undefined)
}

const keyOfLast = (next: object, hash: string, range: string): ReadonlyArray<string | number> =>
  [hash, range].map((name) => {
    const value: unknown = Reflect.get(next, name)
    const { N, S } = value as { readonly N?: string; readonly S?: string }
    return N === undefined ? (S ?? "") : Number(N)
  })
