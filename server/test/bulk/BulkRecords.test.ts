// The documents of jobs on many timers: several nodes write them, and crash between two writes.
import { describe, expect, test } from "bun:test"
import { type Documents, DocumentsError } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Effect } from "effect"
import type { BulkRecord } from "../../src/bulk/BulkRecord.ts"
import { BulkRecords } from "../../src/bulk/BulkRecords.ts"
import { sampleNow } from "../../testkit/timers.ts"
import { sampleJob } from "./sampleJob.ts"

const jobNumber = (n: number, change: Partial<BulkRecord> = {}): BulkRecord => ({
  ...sampleJob,
  jobId: `01b8d832-8600-7000-8000-${String(n).padStart(12, "0")}`,
  ...change,
})

const doneAt = (finishedAt: number): Partial<BulkRecord> => ({ state: "done", finishedAt })

const recordsIn = (documents: Documents["Service"], runningMax = 10) =>
  new BulkRecords({ documents, now: () => sampleNow, runningMax })

const fresh = () => documentsIn(new MemoryDocuments())

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

const allPages = (records: BulkRecords, limit: number) =>
  Effect.gen(function* () {
    const ids: Array<string> = []
    let beforeId: string | undefined
    do {
      const page = yield* records.page(beforeId, limit)
      ids.push(...page.jobs.map(({ jobId }) => jobId))
      beforeId = page.nextBeforeId
    } while (beforeId !== undefined)
    return ids
  })

describe("jobs that run", () => {
  test("are at most as many as allowed, also if several nodes start them at the same time", () =>
    run(
      Effect.gen(function* () {
        const documents = fresh()
        const nodes = [recordsIn(documents, 3), recordsIn(documents, 3)]
        const started = yield* Effect.forEach(
          [0, 1, 2, 3, 4, 5],
          (n) => Effect.result((nodes[n % 2] ?? recordsIn(documents)).begin(jobNumber(n))),
          { concurrency: "unbounded" },
        )
        expect(started.filter(({ _tag }) => _tag === "Success").length).toBe(3)
        expect((yield* recordsIn(documents).running).length).toBe(3)
      }),
    ))

  test("keep their progress, and a job that has ended keeps none", () =>
    run(
      Effect.gen(function* () {
        const records = recordsIn(fresh())
        yield* records.begin(jobNumber(1))
        yield* records.begin(jobNumber(2))
        expect(yield* records.keep(jobNumber(1, { cursor: "c", examined: 7 }))).toBe(true)
        expect(yield* records.find(jobNumber(1).jobId)).toEqual(jobNumber(1, { cursor: "c", examined: 7 }))
        yield* records.end(jobNumber(1, doneAt(sampleNow)))
        expect(yield* records.keep(jobNumber(1))).toBe(false)
        expect(yield* records.running).toEqual([jobNumber(2)])
      }),
    ))
})

describe("the end of a job", () => {
  test("is decided by the first who ends it, and an abort gets the counts of the last step", () =>
    run(
      Effect.gen(function* () {
        const records = recordsIn(fresh())
        yield* records.begin(jobNumber(1))
        const aborted = jobNumber(1, { state: "aborted", finishedAt: sampleNow })
        expect(yield* records.end(aborted)).toEqual(aborted)
        expect(yield* records.end(jobNumber(1, doneAt(sampleNow)))).toEqual(aborted)
        const late = jobNumber(1, { done: { replayed: 5, skipped: 1 }, examined: 6 })
        const completed = { ...aborted, done: late.done, examined: 6 }
        expect(yield* records.addLate(late)).toEqual(completed)
        expect(yield* records.find(aborted.jobId)).toEqual(completed)
        yield* records.begin(jobNumber(2))
        yield* records.end(jobNumber(2, doneAt(sampleNow)))
        expect(yield* records.addLate(jobNumber(2))).toBeUndefined()
      }),
    ))

  test("is known after a crash between its two writes, and the job is listed once", () =>
    run(
      Effect.gen(function* () {
        const documents = fresh()
        yield* recordsIn(documents).begin(jobNumber(1))
        let writes = 0
        const crashing = recordsIn({
          ...documents,
          put: (asked) =>
            ++writes === 1
              ? documents.put(asked)
              : Effect.fail(new DocumentsError({ message: "gone", isFatal: false })),
        })
        const ended = jobNumber(1, doneAt(sampleNow))
        yield* Effect.flip(crashing.end(ended))
        const records = recordsIn(documents)
        expect(yield* records.hasEnded(ended.jobId)).toBe(true)
        expect((yield* records.page(undefined, 10)).jobs).toEqual([ended])
        yield* records.leave(ended.jobId)
        expect(yield* records.running).toEqual([])
        expect(yield* records.find(ended.jobId)).toEqual(ended)
      }),
    ))
})

test("a list has all jobs once, newest first, with pages of every size", () =>
  run(
    Effect.gen(function* () {
      const records = recordsIn(fresh(), 100)
      const numbers = Array.from({ length: 12 }, (_, n) => n)
      for (const n of numbers) {
        yield* records.begin(jobNumber(n))
        if (n % 3 !== 1) yield* records.end(jobNumber(n, doneAt(sampleNow)))
      }
      const expected = numbers.toReversed().map((n) => jobNumber(n).jobId)
      for (let limit = 1; limit <= 13; limit++)
        expect([limit, yield* allPages(records, limit)]).toEqual([limit, expected])
    }),
  ))

test("jobs that ended too long ago are removed, and the oldest if there are too many", () =>
  run(
    Effect.gen(function* () {
      const records = recordsIn(fresh(), 300)
      yield* records.begin(jobNumber(0))
      for (let n = 1; n <= 250; n++) yield* records.end(jobNumber(n, doneAt(sampleNow + n)))
      yield* records.prune(sampleNow + 11, 200)
      const ids = yield* allPages(records, 100)
      const kept = Array.from({ length: 200 }, (_, n) => jobNumber(250 - n).jobId)
      expect(ids).toEqual([...kept, jobNumber(0).jobId])
      yield* records.prune(sampleNow + 241, 200)
      expect((yield* allPages(records, 100)).length).toBe(11)
    }),
  ))

test("documents that cannot be read hide no others", () =>
  run(
    Effect.gen(function* () {
      const memory = new MemoryDocuments()
      const records = recordsIn(documentsIn(memory))
      for (const n of [1, 2]) {
        yield* records.begin(jobNumber(n))
        yield* records.end(jobNumber(n, doneAt(sampleNow)))
      }
      const [damaged] = memory.list({
        kind: "bulkEnded",
        inclusiveFrom: "",
        exclusiveUntil: "~",
        limit: 1,
      })
      memory.damage("bulkEnded", damaged?.id ?? "", "{")
      expect(yield* allPages(records, 10)).toEqual([jobNumber(1).jobId])
      memory.damage("bulkRunning", "all", "{")
      expect(yield* records.running).toEqual([])
      yield* records.begin(jobNumber(3))
      expect(yield* records.running).toEqual([jobNumber(3)])
    }),
  ))
