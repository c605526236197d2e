/**
 * The audit trail: one record for each action of an operator, kept as a document beside the data. A record is written
 * after its action. If it cannot be written, the action has happened all the same, so the whole record goes to the log.
 * Records expire, and their number and size are limited, so that the trail cannot fill the store.
 */
import { type AuditDetails, AuditRecord } from "@punctual/api/AuditRecord"
import { pageBytesMax } from "@punctual/api/Limits"
import { Documents, type DocumentsError, type PresentDocument } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Result, Schedule, SchemaParser } from "effect"
import { AuditIds, afterInstant } from "./AuditId.ts"
import { auditKind, keepTrailBounded } from "./keepTrailBounded.ts"

export type AuditEntry = Omit<AuditRecord, "id">

export interface AuditQuery {
  /** Inclusive. */
  readonly since?: number
  /** Exclusive. */
  readonly until?: number
  /** A call such as `namespaces.put`, or a group of calls such as `namespaces`. */
  readonly action?: string
  /** The id or the label of a key. */
  readonly key?: string
  /** The id of a record; empty to start with the newest. */
  readonly exclusiveAfterId: string
  readonly limit: number
}

export interface AuditPage {
  readonly records: ReadonlyArray<AuditRecord>
  readonly unreadable: number
  /** Where the next page begins; absent if there are no more records. */
  readonly nextAfterId?: string
}

export interface AuditTrailOptions {
  /** The time of the service. */
  readonly now: () => number
  readonly retentionMs: number
  /** How many records are kept. */
  readonly recordsMax?: number
}

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    /** Never fails: a record that cannot be written is logged. */
    record(entry: AuditEntry): Effect.Effect<void>
    /** Newest first. A page may have fewer records than its limit although there are more. */
    list(query: AuditQuery): Effect.Effect<AuditPage, DocumentsError>
  }
>()("punctual/door/AuditTrail") {
  static layer({
    now,
    retentionMs,
    recordsMax = auditRecordsMax,
  }: AuditTrailOptions): Layer.Layer<AuditTrail, never, Documents> {
    return Layer.effect(
      AuditTrail,
      Effect.gen(function* () {
        const documents = yield* Documents
        yield* Effect.forkScoped(keepTrailBounded(documents, { now, retentionMs, recordsMax }))
        return AuditTrail.over(documents)
      }),
    )
  }

  /** For a command: removes no old records, which is the task of the service. */
  static over(documents: Documents["Service"]): AuditTrail["Service"] {
    return { record: recordingIn(documents), list: (query) => listing(documents, query) }
  }
}

/** How many records are kept, whatever their age. */
export const auditRecordsMax = 100_000

/** The caller waits for the record at most this long. */
const recordWithinMs = 5_000
const retryMs = 200

const recordingIn = (documents: Documents["Service"]): AuditTrail["Service"]["record"] => {
  const ids = new AuditIds()
  return (entry) => {
    const record = boundedRecord({ id: ids.next(entry.at), ...entry })
    // The id is new, so a repeat that finds it there finds its own first try.
    return documents
      .put({
        kind: auditKind,
        id: record.id,
        expectedVersion: 0,
        value: encodeRecord(record),
        updatedAt: record.at,
      })
      .pipe(
        Effect.retry({
          schedule: Schedule.spaced(retryMs),
          while: (error) => error._tag === "DocumentsError" && !error.isFatal,
        }),
        Effect.timeout(recordWithinMs),
        Effect.asVoid,
        Effect.catch(({ message }) =>
          Effect.annotateLogs(Effect.logError(`an audit record could not be stored: ${message}`), {
            record: JSON.stringify(encodeRecord(record)),
          }),
        ),
      )
  }
}

/** How many records one call examines. A filter that matches few records needs several calls. */
const examinedMax = 2_000
/** How many records are read at once. Other work has a turn between two reads. */
const slice = 100

const listing = Effect.fnUntraced(function* (
  documents: Documents["Service"],
  query: AuditQuery,
): Effect.fn.Return<AuditPage, DocumentsError> {
  const { since, until, exclusiveAfterId, limit } = query
  const records: Array<AuditRecord> = []
  let bytes = 0
  let unreadable = 0
  const page = (nextAfterId?: string): AuditPage => ({
    records,
    unreadable,
    ...(nextAfterId === undefined ? {} : { nextAfterId }),
  })
  // Records of the instant `until` itself are left out, and so are all newer ones.
  const start = until === undefined ? "" : afterInstant(until)
  const end = since === undefined ? undefined : afterInstant(since)
  let lastId = exclusiveAfterId > start ? exclusiveAfterId : start
  for (let examined = 0; examined < examinedMax; examined += slice) {
    const found = yield* documents.list(auditKind, { exclusiveAfterId: lastId, limit: slice })
    for (const document of found) {
      if (end !== undefined && document.id > end) return page()
      if (records.length === limit || bytes >= pageBytesMax) return page(lastId)
      lastId = document.id
      if (isLeftOut(document, query)) continue
      const record = recordOf(document)
      if (record === undefined) unreadable++
      else {
        records.push(record)
        bytes += JSON.stringify(record).length
      }
    }
    if (found.length < slice) return page()
    // The next answer of the store may be there already, so timers would not fire in between.
    yield* Effect.yieldNow
  }
  return page(lastId)
})

/** Looks at the stored fields, because decoding a whole record takes much longer. */
const isLeftOut = (document: PresentDocument, asked: AuditQuery): boolean => {
  if (document.state === "unreadable" || !hasFields(document.value)) return false
  const { action, caller, keyId } = document.value
  if (typeof action !== "string") return false
  return (
    (asked.action !== undefined && action !== asked.action && !action.startsWith(`${asked.action}.`)) ||
    (asked.key !== undefined && keyId !== asked.key && caller !== asked.key)
  )
}

const hasFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const encodeRecord = SchemaParser.encodeUnknownSync(AuditRecord)
const decodeRecord = SchemaParser.decodeUnknownResult(AuditRecord)

const recordOf = (document: PresentDocument): AuditRecord | undefined => {
  if (document.state === "unreadable") return undefined
  const decoded = decodeRecord(document.value)
  return Result.isSuccess(decoded) ? decoded.success : undefined
}

type Details = NonNullable<AuditDetails["about"]>

/** Details up to this size are kept whole. */
const detailsCharsMax = 4_096
/** Of larger details, so many fields, and so many characters of each. */
const fieldsMax = 16
const fieldCharsMax = 500
const nameCharsMax = 100

const boundedRecord = (record: AuditRecord): AuditRecord => {
  const { about, before, after, caller } = record
  return {
    ...record,
    caller: caller.slice(0, fieldCharsMax).toWellFormed(),
    ...(about === undefined ? {} : { about: boundedDetails(about) }),
    ...(before === undefined ? {} : { before: boundedDetails(before) }),
    ...(after === undefined ? {} : { after: boundedDetails(after) }),
  }
}

const boundedDetails = (details: Details): Details =>
  JSON.stringify(details).length <= detailsCharsMax
    ? details
    : Object.fromEntries(
        Object.entries(details)
          .slice(0, fieldsMax)
          .map(([name, value]) => [name.slice(0, nameCharsMax), boundedValue(value)]),
      )

/** A value that is too long becomes the beginning of its JSON text. */
const boundedValue = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? ""
  return text.length <= fieldCharsMax ? value : `${text.slice(0, fieldCharsMax).toWellFormed()}…`
}
