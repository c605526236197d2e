// What the schema's functions ruled, as answers of the port. They send back only what the asker cannot know: a
// timer that was stored as it was sent is put together here from what was sent.
import type { Timer, TimerKey } from "../../domain/Timer.ts"
import {
  type CancelAnswer,
  type InsertAnswer,
  keyOfItem,
  type Put,
  type Replay,
  type ReplayAnswer,
  type Schedule,
  type ScheduleAnswer,
  type Unknown,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import { type LifeRow, lifeOf, type TimerRow, timerOf } from "./rows.ts"

export interface RulingRow {
  readonly place: number
  readonly ruling: string
  readonly revision: number | null
  readonly created_at: number | null
  readonly told: (TimerRow & LifeRow) | null
  readonly payload: Uint8Array | null
}

export const answerOf = (item: WriteItem, row: RulingRow): InsertAnswer => {
  switch (item.kind) {
    case "put":
      return putAnswer(item, row)
    case "schedule":
      return scheduleAnswer(item, row)
    case "change":
      switch (row.ruling) {
        case "change":
        case "changed":
          return { result: "changed", timer: toldTimer(item.key, row) }
        case "inFlight":
        case "notFound":
        case "unknown":
          return { result: row.ruling }
        default:
          return { result: "revisionMismatch", revision: row.revision ?? 0 }
      }
    case "cancel":
      return cancelAnswer(row)
    case "outcome":
      if (row.ruling === "stale") return { result: "stale" }
      return row.told === null ? { result: "settled" } : { result: "settled", next: toldTimer(item.key, row) }
    case "record":
      return { result: "recorded" }
    case "replay":
      return replayAnswer(item, row)
    case "discard":
      switch (row.ruling) {
        case "discard":
          return { result: "discarded" }
        case "unknown":
          return { result: "unknown" }
        default:
          return { result: "notFound" }
      }
  }
}

const putAnswer = (put: Put, row: RulingRow): InsertAnswer => {
  const { timer } = put
  switch (row.ruling) {
    case "create":
      return { result: "created", timer: storedAs(timer, row) }
    case "replace":
      return { result: "replaced", timer: storedAs(timer, row) }
    case "alreadyFinished":
      if (row.told === null) throw new Error("a finished life was not told")
      return { result: "alreadyFinished", life: lifeOf(timer, row.told, row.payload) }
    case "created":
    case "replaced":
    case "unchanged":
    case "exists":
      return { result: row.ruling, timer: toldTimer(timer, row) }
    case "unknown":
    case "livedBefore":
      return { result: row.ruling }
    default:
      throw unknownRuling(put, row)
  }
}

const scheduleAnswer = (schedule: Schedule, row: RulingRow): ScheduleAnswer => {
  const { timer } = schedule
  switch (row.ruling) {
    case "create":
      return { result: "created", timer: storedAs(timer, row) }
    case "move":
      return { result: "moved", timer: toldTimer(timer, row) }
    case "confirm":
      return { result: "unchanged", timer: toldTimer(timer, row) }
    case "created":
    case "moved":
    case "unchanged":
      return { result: row.ruling, timer: toldTimer(timer, row) }
    case "outdated":
    case "inFlight":
    case "retrying":
    case "finished":
      return { result: "ignored", because: row.ruling }
    default:
      throw unknownRuling(schedule, row)
  }
}

const cancelAnswer = (row: RulingRow): CancelAnswer | Unknown => {
  switch (row.ruling) {
    case "cancel":
    case "cancelled":
      return { result: "cancelled" }
    case "abandon":
    case "inFlight":
      return { result: "inFlight" }
    case "revisionMismatch":
      return { result: "revisionMismatch", revision: row.revision ?? 0 }
    case "alreadyDelivered":
    case "alreadyCancelled":
    case "alreadyDead":
    case "unknown":
      return { result: row.ruling }
    default:
      return { result: "notFound" }
  }
}

const replayAnswer = (replay: Replay, row: RulingRow): ReplayAnswer | Unknown => {
  switch (row.ruling) {
    case "replay":
    case "replayed":
      return { result: "replayed", timer: toldTimer(replay.key, row) }
    case "alreadyReplayed":
    case "skipped":
    case "unknown":
      return { result: row.ruling }
    default:
      return { result: "notFound" }
  }
}

/** The asker's own timer, with what the store gave it. */
const storedAs = (timer: Timer, row: RulingRow): Timer => ({
  ...timer,
  revision: row.revision ?? timer.revision,
  createdAt: row.created_at ?? timer.createdAt,
})

const toldTimer = (key: TimerKey, row: RulingRow): Timer => {
  if (row.told === null) throw new Error(`a timer was not told: ${row.ruling}`)
  return timerOf(key, row.told, row.payload)
}

const unknownRuling = (item: WriteItem, { ruling }: RulingRow): Error =>
  new Error(`"${ruling}" is no answer to the ${item.kind} of ${keyOfItem(item).timerId}`)
