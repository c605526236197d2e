// Documents in Cassandra, all of a store in one partition: a condition guards one partition, and versions increase over
// the whole store. A write is one conditional batch. It expects the last version and the document's own version, and is
// tried again if another write came between.
//
// Each document has a row under its id (part 0) and one under its version (part 1). The tombstones of all kinds are
// listed by their time (part 2), so that removals find old ones.
import {
  type DocumentCalls,
  type DocumentRow,
  type IdRange,
  tombstonesCleared,
  tombstonesKeptMs,
  type WriteDocument,
} from "../DocumentRow.ts"

type Value = string | number | bigint | null

interface Statement {
  readonly query: string
  readonly params: ReadonlyArray<Value>
}

type Row = Readonly<Record<string, unknown>>

/** The connection of the store. */
export interface CassandraCalls {
  readonly store: string
  rows(query: string, params: ReadonlyArray<Value>): Promise<ReadonlyArray<Row>>
  /** `undefined` if the batch was applied. */
  batch(
    statements: ReadonlyArray<Statement>,
    options: { readonly isConditional: true },
  ): Promise<ReadonlyArray<Row> | undefined>
}

const parts = { document: 0, change: 1, tombstone: 2 } as const

/** The kind under which tombstones are listed. It sorts after all kinds. */
const ofTombstones = "~"

/** How often a write is tried if others write at the same time. */
const mostTries = 30

const where = "WHERE store = ? AND kind = ? AND part = ? AND version = ? AND id = ?"
const columns = "id, document_version, json, updated_at"

const writeDocument = async (
  calls: CassandraCalls,
  asked: WriteDocument,
): Promise<DocumentRow | undefined> => {
  const { kind, id, expectedVersion, json, updatedAt } = asked
  for (let tries = 0; tries < mostTries; tries++) {
    const [last, before] = await Promise.all([lastVersion(calls), anyDocument(calls, kind, id)])
    const present = before?.json === null ? undefined : before
    if ((present?.version ?? 0) !== expectedVersion || (json === null && present === undefined))
      return undefined
    const version = (last ?? 0) + 1
    const written: DocumentRow = { kind, id, version, json, updated_at: updatedAt }
    const old = json === null ? await oldTombstones(calls, updatedAt - tombstonesKeptMs) : []
    const statements = [
      ...versionStatements(calls, last),
      ...documentStatements(calls, written, before),
      ...old.flatMap((row) => removal(calls, row)),
    ]
    if ((await calls.batch(statements, { isConditional: true })) === undefined) return written
  }
  throw new Error("other writes of documents came between again and again")
}

/** The first write also makes the partition's first row, which is never deleted; see the store's schema. */
const versionStatements = (calls: CassandraCalls, last: number | undefined): ReadonlyArray<Statement> => [
  {
    query: "UPDATE documents SET last_version = ? WHERE store = ? IF last_version = ?",
    params: [BigInt((last ?? 0) + 1), calls.store, last === undefined ? null : BigInt(last)],
  },
  ...(last === undefined ? [insert(calls, "", parts.document, 0, "")] : []),
]

const documentStatements = (
  calls: CassandraCalls,
  { kind, id, version, json, updated_at }: DocumentRow,
  before: DocumentRow | undefined,
): ReadonlyArray<Statement> => [
  {
    query: `UPDATE documents SET document_version = ?, json = ?, updated_at = ? ${where} IF document_version = ?`,
    params: [
      BigInt(version),
      json,
      BigInt(updated_at),
      calls.store,
      kind,
      parts.document,
      0n,
      id,
      before === undefined ? null : BigInt(before.version),
    ],
  },
  ...(before === undefined ? [] : [remove(calls, kind, parts.change, before.version, id)]),
  insert(calls, kind, parts.change, version, id),
  ...(before?.json === null
    ? [remove(calls, ofTombstones, parts.tombstone, before.updated_at, `${kind} ${id}`)]
    : []),
  ...(json === null ? [insert(calls, ofTombstones, parts.tombstone, updated_at, `${kind} ${id}`)] : []),
]

/** Removes all traces of a document that was removed long ago. */
const removal = (
  calls: CassandraCalls,
  { kind, id, version, updated_at }: DocumentRow,
): ReadonlyArray<Statement> => [
  {
    query: `DELETE FROM documents ${where} IF document_version = ?`,
    params: [calls.store, kind, parts.document, 0n, id, BigInt(version)],
  },
  remove(calls, kind, parts.change, version, id),
  remove(calls, ofTombstones, parts.tombstone, updated_at, `${kind} ${id}`),
]

const insert = (
  calls: CassandraCalls,
  kind: string,
  part: number,
  version: number,
  id: string,
): Statement => ({
  query: "INSERT INTO documents (store, kind, part, version, id) VALUES (?, ?, ?, ?, ?)",
  params: [calls.store, kind, part, BigInt(version), id],
})

const remove = (
  calls: CassandraCalls,
  kind: string,
  part: number,
  version: number,
  id: string,
): Statement => ({
  query: `DELETE FROM documents ${where}`,
  params: [calls.store, kind, part, BigInt(version), id],
})

const lastVersion = async (calls: CassandraCalls): Promise<number | undefined> => {
  const [row] = await calls.rows("SELECT DISTINCT store, last_version FROM documents WHERE store = ?", [
    calls.store,
  ])
  const last = row?.["last_version"]
  return last === undefined || last === null ? undefined : Number(last)
}

const oldTombstones = async (
  calls: CassandraCalls,
  exclusiveBeforeMs: number,
): Promise<ReadonlyArray<DocumentRow>> => {
  const rows = await calls.rows(
    "SELECT id FROM documents WHERE store = ? AND kind = ? AND part = ? AND version < ? LIMIT ?",
    [calls.store, ofTombstones, parts.tombstone, BigInt(exclusiveBeforeMs), tombstonesCleared],
  )
  const found = await Promise.all(
    rows.map((row) => {
      const [kind = "", id = ""] = String(row["id"]).split(" ")
      return anyDocument(calls, kind, id)
    }),
  )
  return found.filter((row) => row?.json === null) as ReadonlyArray<DocumentRow>
}

/** Tombstones, too. */
const anyDocument = async (
  calls: CassandraCalls,
  kind: string,
  id: string,
): Promise<DocumentRow | undefined> => {
  const [row] = await calls.rows(`SELECT ${columns} FROM documents ${where}`, [
    calls.store,
    kind,
    parts.document,
    0n,
    id,
  ])
  return row === undefined ? undefined : documentOf(kind, row)
}

const documentOf = (kind: string, row: Row): DocumentRow => ({
  kind,
  id: String(row["id"]),
  version: Number(row["document_version"]),
  json: (row["json"] as string | null) ?? null,
  updated_at: Number(row["updated_at"]),
})

const readDocument = async (
  calls: CassandraCalls,
  kind: string,
  id: string,
): Promise<DocumentRow | undefined> => {
  const row = await anyDocument(calls, kind, id)
  return row?.json === null ? undefined : row
}

const listDocuments = async (calls: CassandraCalls, range: IdRange): Promise<ReadonlyArray<DocumentRow>> => {
  const found: Array<DocumentRow> = []
  let from = range.inclusiveFrom
  for (;;) {
    const rows = await calls.rows(
      `SELECT ${columns} FROM documents WHERE store = ? AND kind = ? AND part = ? AND version = ? AND id >= ? AND id < ? LIMIT ?`,
      [calls.store, range.kind, parts.document, 0n, from, range.exclusiveUntil, range.limit],
    )
    const documents = rows.map((row) => documentOf(range.kind, row))
    found.push(...documents.filter(({ json }) => json !== null))
    if (rows.length < range.limit || found.length >= range.limit) return found.slice(0, range.limit)
    // A space sorts before everything that may follow an id.
    from = `${documents.at(-1)?.id ?? ""} `
  }
}

/** A document that changes meanwhile comes later, under its new version. */
const readChanges = async (
  calls: CassandraCalls,
  kind: string,
  version: number,
  limit: number,
): Promise<ReadonlyArray<DocumentRow>> => {
  const rows = await calls.rows(
    "SELECT version, id FROM documents WHERE store = ? AND kind = ? AND part = ? AND version > ? LIMIT ?",
    [calls.store, kind, parts.change, BigInt(version), limit],
  )
  const found = await Promise.all(rows.map((row) => anyDocument(calls, kind, String(row["id"]))))
  return found.filter(
    (row, index): row is DocumentRow => row !== undefined && row.version === Number(rows[index]?.["version"]),
  )
}

export const cassandraDocuments = (calls: CassandraCalls): DocumentCalls => ({
  write: (asked) => writeDocument(calls, asked),
  get: (kind, id) => readDocument(calls, kind, id),
  list: (range) => listDocuments(calls, range),
  changesAfter: (kind, version, limit) => readChanges(calls, kind, version, limit),
})
