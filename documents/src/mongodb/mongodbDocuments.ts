// Documents in MongoDB, without transactions. One head document has the last version and the write that got it. A write
// replaces the head only if the head is unchanged since it looked, and everything before it is applied. So versions
// become visible in order, and of two writes that expect the same version only one succeeds. Applying a write twice, or
// late, changes nothing: a document is only replaced by a higher version.
import {
  type DocumentCalls,
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"
import type { Commands, Document } from "./Commands.ts"

const headId = "documents"
/** Writers of one process take turns. Those of other processes make a round useless now and then. */
const mostRounds = 50
const delayMs = 5
const turns = new WeakMap<Commands, Promise<unknown>>()

/** Neither a kind nor an id contains a space. */
const idOf = ({ kind, id }: Pick<WriteDocument, "kind" | "id">): string => `${kind} ${id}`

const writeDocument = (commands: Commands, asked: WriteDocument): Promise<DocumentRow | undefined> => {
  const before = turns.get(commands) ?? Promise.resolve()
  const written = before.then(() => writeInTurn(commands, asked))
  turns.set(
    commands,
    written.catch(() => {}),
  )
  return written
}

const writeInTurn = async (commands: Commands, asked: WriteDocument): Promise<DocumentRow | undefined> => {
  const { kind, id, expectedVersion, json, updatedAt } = asked
  for (let round = 0; round < mostRounds; round++) {
    const head = await commands.findOne("meta", { _id: headId })
    if (head?.["write"] !== undefined) await apply(commands, head["write"])
    const present = await readDocument(commands, kind, id)
    if ((present?.version ?? 0) !== expectedVersion || (json === null && present === undefined))
      return undefined
    const version = (head?.["version"] ?? 0) + 1
    const write = { kind, id, version, json, updated_at: updatedAt }
    const query = { _id: headId, version: head?.["version"] ?? { $exists: false } }
    if (!(await isHeadReplaced(commands, query, { version, write }))) {
      await new Promise((resolve) => setTimeout(resolve, delayMs * round))
      continue
    }
    await apply(commands, write)
    if (json === null) await clearTombstones(commands, updatedAt - tombstonesKeptMs)
    return rowOf(write)
  }
  throw new Error(`other processes wrote documents ${mostRounds} times in between`)
}

/** The first write inserts the head. If two processes do so, one of them fails with a used `_id`, which counts as false. */
const isHeadReplaced = async (commands: Commands, query: Document, head: Document): Promise<boolean> =>
  (await commands.update("meta", [{ q: query, u: { $set: head }, upsert: true }])) === 1

const apply = async (commands: Commands, write: Document): Promise<void> => {
  const q = { _id: idOf(rowOf(write)), version: { $lt: write["version"] } }
  await commands.update("documents", [{ q, u: { $set: { ...write } }, upsert: true }])
}

const clearTombstones = async (commands: Commands, exclusiveBeforeMs: number): Promise<void> => {
  const old = await commands.find(
    "documents",
    { json: null, updated_at: { $lt: exclusiveBeforeMs } },
    { sort: { updated_at: 1 }, limit: tombstonesCleared, projection: { version: 1 } },
  )
  for (const { _id, version } of old) await commands.remove("documents", { _id, version })
}

const readDocument = async (
  commands: Commands,
  kind: string,
  id: string,
): Promise<DocumentRow | undefined> => {
  const found = await commands.findOne("documents", { _id: idOf({ kind, id }), json: { $ne: null } })
  return found === undefined ? undefined : rowOf(found)
}

const listDocuments = async (commands: Commands, range: IdRange): Promise<ReadonlyArray<DocumentRow>> => {
  const { kind, inclusiveFrom, exclusiveUntil, limit } = range
  const id = { $gte: inclusiveFrom, $lt: exclusiveUntil }
  const found = await commands.find(
    "documents",
    { kind, id, json: { $ne: null } },
    { sort: { id: 1 }, limit },
  )
  return found.map(rowOf)
}

const readChanges = async (
  commands: Commands,
  kind: string,
  version: number,
  limit: number,
): Promise<ReadonlyArray<DocumentRow>> => {
  const filter = { kind, version: { $gt: version } }
  return (await commands.find("documents", filter, { sort: { version: 1 }, limit })).map(rowOf)
}

export const documentIndexes: ReadonlyArray<Document> = [
  { name: "by_id", key: { kind: 1, id: 1 } },
  { name: "by_version", key: { kind: 1, version: 1 } },
]

const rowOf = ({ kind, id, version, json, updated_at }: Document): DocumentRow => ({
  kind,
  id,
  version,
  json,
  updated_at,
})

export const mongodbDocuments = (commands: Commands): DocumentCalls => ({
  write: (asked) => writeDocument(commands, asked),
  get: (kind, id) => readDocument(commands, kind, id),
  list: (range) => listDocuments(commands, range),
  changesAfter: (kind, version, limit) => readChanges(commands, kind, version, limit),
})
