// Keeps the activity of all nodes as documents beside the data: one for each minute and process, and one for each hour and
// process, which grows every minute. Long questions read hours, so that their cost is bounded. A crash loses at most a
// minute of statistics. Records are kept as long as the history of timers.

import { nextTurn } from "@punctual/api/nextTurn"
import { Documents, type DocumentsError, type PresentDocument } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Metric, type Scope } from "effect"
import { type ActivityRecord, activityRecordOf } from "../../domain/ActivityRecord.ts"
import type { UnstoredActivity } from "../../ports/PeerActivity.ts"
import { WallClock } from "../../ports/WallClock.ts"
import { Engine } from "../Engine.ts"
import { type ActivityCounter, minuteMs } from "./ActivityCounter.ts"
import { HourRecord } from "./HourRecord.ts"

export const hourMs = 60 * minuteMs

export type ActivityUnit = "minute" | "hour"

export interface ActivityQuery {
  readonly unit: ActivityUnit
  /** Inclusive, the beginning of a unit. */
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

export class ActivityLog extends Context.Service<
  ActivityLog,
  {
    /** What this process has counted and not stored yet. */
    unstored(): UnstoredActivity
    /** Visits the stored records of the time, and of `unstored` those that are not stored by now. */
    read(
      query: ActivityQuery,
      unstored: ReadonlyArray<UnstoredActivity>,
      visit: (record: ActivityRecord) => void,
    ): Effect.Effect<void, DocumentsError>
  }
>()("punctual/engine/ActivityLog") {
  static layer({
    retentionMs,
  }: {
    readonly retentionMs: number
  }): Layer.Layer<ActivityLog, never, Documents | Engine | WallClock> {
    return Layer.effect(
      ActivityLog,
      Effect.gen(function* () {
        const { activity: counter } = yield* Engine
        return yield* ActivityLog.over(yield* Documents, counter, { ...(yield* WallClock), retentionMs })
      }),
    )
  }

  /** Stores what the counter has, until the scope closes. */
  static over(
    documents: Documents["Service"],
    counter: ActivityCounter,
    keeping: ActivityKeeping,
  ): Effect.Effect<ActivityLog["Service"], never, Scope.Scope> {
    return Effect.gen(function* () {
      const stored = new StoredActivity(documents, counter, keeping)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => counter.stop()).pipe(
          Effect.andThen(stored.storeEnded),
          Effect.timeoutOption(lastStoreMs),
          Effect.ignore,
        ),
      )
      yield* Effect.forkScoped(stored.keep)
      return {
        unstored: () => ({ process: counter.process, records: counter.unstored() }),
        read: (query, unstored, visit) => reading(documents, query, unstored, visit),
      }
    })
  }
}

export interface ActivityKeeping {
  readonly now: () => number
  readonly retentionMs: number
}

const kind = "activity"
const unstoredMinutes = Metric.gauge("timer_activity_unstored_minutes", {
  description: "Minutes of statistics that could not be stored yet; at most 30 are kept",
})
const retryMs = 15_000
/** How long a stopping process tries to store its last minute. */
const lastStoreMs = 1_000
/** A page of records of the largest size is read in a few milliseconds. */
const pageSize = 20
const removedAtOnce = 100

const prefixes: Readonly<Record<ActivityUnit, string>> = { minute: "m", hour: "h" }
const numberDigits = 10

const idOf = (unit: ActivityUnit, atMs: number, process: string): string => `${before(unit, atMs)}-${process}`

/** Sorts before all records of the unit that begins then, and after all earlier ones. */
const before = (unit: ActivityUnit, atMs: number): string =>
  `${prefixes[unit]}${String(Math.max(0, Math.floor(atMs / minuteMs))).padStart(numberDigits, "0")}`

class StoredActivity {
  readonly #documents: Documents["Service"]
  readonly #counter: ActivityCounter
  readonly #keeping: ActivityKeeping
  #hour: HourRecord | undefined

  constructor(documents: Documents["Service"], counter: ActivityCounter, keeping: ActivityKeeping) {
    this.#documents = documents
    this.#counter = counter
    this.#keeping = keeping
  }

  /** Never ends. Stores each minute when it is over. If the store fails, it tries again later. */
  readonly keep: Effect.Effect<never> = Effect.suspend(() =>
    this.storeEnded.pipe(
      Effect.flatMap((stored) => (stored > 0 ? this.#removeExpired : Effect.void)),
      Effect.catch(({ message }) =>
        Effect.andThen(Effect.logWarning(`the activity was not stored: ${message}`), Effect.sleep(retryMs)),
      ),
      Effect.andThen(Effect.suspend(() => Effect.sleep(minuteMs - (this.#keeping.now() % minuteMs)))),
      Effect.forever,
    ),
  )

  /** Returns how many minutes were stored. */
  readonly storeEnded: Effect.Effect<number, { readonly message: string }> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      let stored = 0
      for (;;) {
        const ended = this.#counter.ended()
        yield* Metric.update(unstoredMinutes, ended.length)
        const [record] = ended
        if (record === undefined) return stored
        yield* this.#storeMinute(record)
        yield* this.#storeHour(record)
        this.#counter.stored()
        stored++
      }
    }),
  )

  /** If the result of an earlier try is unknown, the record may be there already. */
  #storeMinute(record: ActivityRecord) {
    const id = idOf("minute", record.atMs, this.#counter.process)
    return this.#documents.put({
      kind,
      id,
      expectedVersion: 0,
      value: record,
      updatedAt: this.#keeping.now(),
    })
  }

  #storeHour(record: ActivityRecord) {
    return Effect.gen({ self: this }, function* () {
      const atMs = record.atMs - (record.atMs % hourMs)
      if (this.#hour?.atMs !== atMs) this.#hour = new HourRecord(atMs)
      const hour = this.#hour
      hour.add(record)
      const id = idOf("hour", atMs, this.#counter.process)
      const found = yield* this.#documents.get(kind, id)
      const expectedVersion = found?.version ?? 0
      yield* this.#documents.put({
        kind,
        id,
        expectedVersion,
        value: hour.value,
        updatedAt: this.#keeping.now(),
      })
    })
  }

  readonly #removeExpired: Effect.Effect<void, DocumentsError> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      const { now, retentionMs } = this.#keeping
      for (const unit of ["minute", "hour"] as const) {
        const end = before(unit, now() - retentionMs)
        const idPrefix = prefixes[unit]
        const old = yield* this.#documents.list(kind, {
          idPrefix,
          exclusiveAfterId: "",
          limit: removedAtOnce,
        })
        for (const { id, version } of old) {
          if (id >= end) break
          yield* this.#documents.remove({ kind, id, expectedVersion: version, updatedAt: now() })
        }
      }
    }),
  )
}

const reading = (
  documents: Documents["Service"],
  { unit, fromMs, untilMs }: ActivityQuery,
  unstored: ReadonlyArray<UnstoredActivity>,
  visit: (record: ActivityRecord) => void,
): Effect.Effect<void, DocumentsError> =>
  Effect.gen(function* () {
    const end = before(unit, untilMs)
    /** Up to which minute the activity of a process is stored. */
    const storedUntil = new Map<string, number>()
    const take = (document: PresentDocument): void => {
      const value = document.state === "stored" ? document.value : undefined
      const record = activityRecordOf(value)
      if (record === undefined) return
      const process = document.id.slice(document.id.indexOf("-") + 1)
      const lastMs = unit === "hour" ? HourRecord.lastMinuteOf(value) : record.atMs
      storedUntil.set(process, Math.max(storedUntil.get(process) ?? 0, lastMs))
      visit(record)
    }
    let exclusiveAfterId = before(unit, fromMs)
    for (;;) {
      const page = yield* documents.list(kind, {
        idPrefix: prefixes[unit],
        exclusiveAfterId,
        limit: pageSize,
      })
      for (const document of page) if (document.id < end) take(document)
      exclusiveAfterId = page.at(-1)?.id ?? end
      if (page.length < pageSize || exclusiveAfterId >= end) break
      yield* Effect.promise(() => nextTurn())
    }
    for (const { process, records } of unstored) {
      for (const record of records) {
        const isStored = record.atMs <= (storedUntil.get(process) ?? -1)
        if (!isStored && record.atMs >= fromMs && record.atMs < untilMs) visit(record)
      }
    }
  })
