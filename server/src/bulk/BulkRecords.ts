// The jobs on many timers, as documents. All jobs that run are in one document, so that a write can check how many there
// are: two nodes that start a job at the same time write the same document, and one of them has to look again. A job that
// has ended gets a document of its own.
//
// A job ends in two writes: first its own document, then it leaves the document of those that run. Between the two it is
// in both places, and the document of its own is right. So a crash between the writes loses nothing, and the next node
// that runs jobs completes the second one. If several end a job at once, for example a caller that aborts it and the node
// that completes it, the first one decides how it ended.
import type {
  DocumentRefused,
  Documents,
  DocumentsError,
  PresentDocument,
} from "@punctual/documents/Documents"
import { Effect, Schema, Semaphore } from "effect"
import { type BulkRecord, bulkRecordOf, encodeBulkRecord } from "./BulkRecord.ts"

const runningKind = "bulkRunning"
const runningId = "all"
const endedKind = "bulkEnded"

/** Other writers kept changing the jobs, so nothing was changed. */
export class BulkContended extends Schema.TaggedError<BulkContended>()("BulkContended", {}) {}

/** As many jobs run as are allowed. */
export class TooManyJobs extends Schema.TaggedError<TooManyJobs>()("TooManyJobs", {}) {}

export type BulkWriteError = DocumentsError | DocumentRefused | BulkContended

export interface BulkPage {
  readonly jobs: ReadonlyArray<BulkRecord>
  /** The id of the last job that was looked at; absent if there are no older ones. */
  readonly nextBeforeId?: string
}

export interface BulkRecordsOptions {
  readonly documents: Documents["Service"]
  readonly now: () => number
  readonly runningMax: number
}

const triesMax = 8
const pageItems = 100

export class BulkRecords {
  readonly #documents: Documents["Service"]
  readonly #now: () => number
  readonly #runningMax: number
  /** The jobs of one process do not compete for the document. */
  readonly #turn = Semaphore.makeUnsafe(1)

  constructor({ documents, now, runningMax }: BulkRecordsOptions) {
    this.#documents = documents
    this.#now = now
    this.#runningMax = runningMax
  }

  /** Adds a job to those that run. */
  begin(record: BulkRecord): Effect.Effect<void, BulkWriteError | TooManyJobs> {
    return Effect.asVoid(
      this.#changeRunning((jobs) =>
        jobs.length < this.#runningMax ? Effect.succeed([...jobs, record]) : Effect.fail(new TooManyJobs()),
      ),
    )
  }

  get running(): Effect.Effect<ReadonlyArray<BulkRecord>, DocumentsError> {
    return Effect.map(this.#documents.get(runningKind, runningId), recordsIn)
  }

  find(jobId: string): Effect.Effect<BulkRecord | undefined, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      const running = yield* this.running
      return running.find((job) => job.jobId === jobId) ?? (yield* this.#ended(jobId))?.record
    })
  }

  /** Stores how far a running job is. `false` if the job runs no more. */
  keep(record: BulkRecord): Effect.Effect<boolean, BulkWriteError> {
    return Effect.map(
      this.#changeRunning((jobs) =>
        Effect.succeed(
          jobs.some(({ jobId }) => jobId === record.jobId)
            ? jobs.map((job) => (job.jobId === record.jobId ? record : job))
            : undefined,
        ),
      ),
      (written) => written !== undefined,
    )
  }

  /** Ends a job. Answers the job as it ended, which another caller may have decided before. */
  end(record: BulkRecord): Effect.Effect<BulkRecord, BulkWriteError> {
    return Effect.gen({ self: this }, function* () {
      const written = yield* this.#documents.put({ ...this.#documentOf(record), expectedVersion: 0 })
      const ended = written === undefined ? (yield* this.#ended(record.jobId))?.record : record
      yield* this.leave(record.jobId)
      return ended ?? record
    })
  }

  /** Removes a job from those that run. */
  leave(jobId: string): Effect.Effect<void, BulkWriteError> {
    return Effect.asVoid(
      this.#changeRunning((jobs) =>
        Effect.succeed(
          jobs.some((job) => job.jobId === jobId) ? jobs.filter((job) => job.jobId !== jobId) : undefined,
        ),
      ),
    )
  }

  /** Adds to an aborted job what was done while it was aborted. `undefined` if the job was not aborted. */
  addLate({ jobId, done, examined }: BulkRecord): Effect.Effect<BulkRecord | undefined, BulkWriteError> {
    return Effect.gen({ self: this }, function* () {
      const ended = yield* this.#ended(jobId)
      if (ended?.record?.state !== "aborted") return undefined
      const record = { ...ended.record, done, examined }
      yield* this.#documents.put({ ...this.#documentOf(record), expectedVersion: ended.version })
      return record
    })
  }

  /** Whether the job has ended, although it may still be among those that run. */
  hasEnded(jobId: string): Effect.Effect<boolean, DocumentsError> {
    return Effect.map(this.#ended(jobId), (ended) => ended !== undefined)
  }

  /** Jobs that were started before the given one, newest first; all jobs if none is given. */
  page(beforeId: string | undefined, limit: number): Effect.Effect<BulkPage, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      const running = yield* this.running
      const size = Math.min(limit, pageItems)
      const found = yield* this.#documents.list(endedKind, {
        exclusiveAfterId: beforeId === undefined ? "" : turned(beforeId),
        limit: size,
      })
      const ids = new Set(found.map(({ id }) => turned(id)))
      const oldest = found.length < size ? "" : turned(found.at(-1)?.id ?? "")
      const jobs = [
        ...running.filter(
          ({ jobId }) => jobId > oldest && (beforeId === undefined || jobId < beforeId) && !ids.has(jobId),
        ),
        ...found.flatMap((document) => endedRecordOf(document) ?? []),
      ].sort((one, other) => (one.jobId < other.jobId ? 1 : -1))
      const page = jobs.slice(0, limit)
      const next = page.length < jobs.length ? page.at(-1)?.jobId : oldest || undefined
      return { jobs: page, ...(next === undefined ? {} : { nextBeforeId: next }) }
    })
  }

  /** Removes jobs that ended before an instant, and the oldest if there are more than `most`. */
  prune(exclusiveBeforeMs: number, most: number): Effect.Effect<void, DocumentsError> {
    return Effect.gen({ self: this }, function* () {
      let kept = 0
      for (let exclusiveAfterId = ""; ; ) {
        const found = yield* this.#documents.list(endedKind, { exclusiveAfterId, limit: pageItems })
        for (const document of found) {
          const finishedAt = endedRecordOf(document)?.finishedAt ?? document.updatedAt
          if (finishedAt >= exclusiveBeforeMs && kept++ < most) continue
          const { kind, id, version: expectedVersion } = document
          yield* this.#documents.remove({ kind, id, expectedVersion, updatedAt: this.#now() })
        }
        if (found.length < pageItems) return
        exclusiveAfterId = found.at(-1)?.id ?? ""
      }
    })
  }

  #ended(jobId: string) {
    return Effect.map(this.#documents.get(endedKind, turned(jobId)), (document) =>
      document === undefined ? undefined : { record: endedRecordOf(document), version: document.version },
    )
  }

  #documentOf(record: BulkRecord) {
    const value = encodeBulkRecord(record)
    return { kind: endedKind, id: turned(record.jobId), value, updatedAt: this.#now() }
  }

  /** Changes the jobs that run. If `edit` answers `undefined`, nothing is written. */
  #changeRunning<E = never>(
    edit: (jobs: ReadonlyArray<BulkRecord>) => Effect.Effect<ReadonlyArray<BulkRecord> | undefined, E>,
  ): Effect.Effect<ReadonlyArray<BulkRecord> | undefined, BulkWriteError | E> {
    return this.#turn.withPermits(1)(
      Effect.gen({ self: this }, function* () {
        for (let tries = 0; tries < triesMax; tries++) {
          const document = yield* this.#documents.get(runningKind, runningId)
          const jobs = yield* edit(recordsIn(document))
          if (jobs === undefined) return undefined
          const written = yield* this.#documents.put({
            kind: runningKind,
            id: runningId,
            expectedVersion: document?.version ?? 0,
            value: { jobs: jobs.map(encodeBulkRecord) },
            updatedAt: this.#now(),
          })
          if (written !== undefined) return jobs
        }
        return yield* new BulkContended()
      }),
    )
  }
}

/** Jobs that cannot be read are left out, and the next write drops them: nobody could go on with them. */
const recordsIn = (document: PresentDocument | undefined): ReadonlyArray<BulkRecord> => {
  if (document?.state !== "stored") return []
  const { value } = document
  const jobs = typeof value === "object" && value !== null && "jobs" in value ? value.jobs : []
  return Array.isArray(jobs) ? jobs.flatMap((job) => bulkRecordOf(job) ?? []) : []
}

const endedRecordOf = (document: PresentDocument): BulkRecord | undefined =>
  document.state === "stored" ? bulkRecordOf(document.value) : undefined

/**
 * Documents are listed by id, and readers want the newest job first. The id of a job begins with its time, so the id of
 * its document has the opposite digits. Applied twice it answers the same id again.
 */
const turned = (id: string): string =>
  id.replace(/[0-9a-f]/g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16))
