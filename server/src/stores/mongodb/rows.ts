// Timers and lives as documents. A key's document (collection `keys`) has the pending timer and refers to the last life.
// Each finished life is a document of its own (`lives`). Specs, attempt logs and lists are JSON texts, as in the SQL
// stores, so that a damaged one is recognised in the same way. Words are an array that an index covers, so they change
// together with their timer or life.

import type { Document } from "@punctual/documents/mongodb/Commands"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields } from "../../domain/timerFields.ts"
import { type WordRow, wordRowsOfLife, wordRowsOfTimer } from "../../domain/words.ts"
import {
  columnsOf,
  type LifeColumns,
  lifeOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "../columnRows.ts"
import { textOfSpec } from "../SpecText.ts"

export const lifeIdOf = (uuid: string, fireId: string): string => `${uuid}:${fireId}`

/** The pending timer, without its key and its payload. */
export const timerDocument = (timer: Timer): Document => ({
  ...columnsOf(pendingFields, timer),
  spec: textOfSpec(timer.spec),
  ...wordsIn(wordRowsOfTimer(timer)),
})

/** The life, without its key, its stamp and its entry number. Only dead letters keep their payload. */
export const lifeDocument = (life: FinishedLife): Document => ({
  ...columnsOf(finishedFields, life),
  spec: textOfSpec(life.spec),
  ...wordsIn(wordRowsOfLife(life)),
  ...(life.state === "dead" ? {} : { prunable: true }),
  ...(life.state === "dead" && life.payload !== undefined ? { payload: life.payload } : {}),
})

const others = ["spec", "words", "payload"]

/** All fields that `timerDocument` may set, and the payload. */
export const timerColumns: ReadonlyArray<string> = [...pendingFields.map(({ column }) => column), ...others]

/** All fields that `lifeDocument` may set. */
export const lifeColumns: ReadonlyArray<string> = [
  ...finishedFields.map(({ column }) => column),
  ...others,
  "prunable",
]

export const timerKeyIn = (row: Document): TimerKey => ({
  namespace: row["namespace"],
  timerId: row["timer_id"],
  uuid: row["uuid"] ?? row["_id"],
})

/** Without its payload, unless that is asked for. */
export const timerOf = (row: Document, withPayload = true): Timer =>
  // The database validates nothing, but only this program writes these documents.
  timerOfColumns(timerKeyIn(row), row as unknown as TimerColumns, withPayload ? row["payload"] : undefined)

export const lifeOf = (row: Document, withPayload = true): FinishedLife =>
  // As above.
  lifeOfColumns(timerKeyIn(row), row as unknown as LifeColumns, withPayload ? row["payload"] : undefined)

const wordsIn = (rows: ReadonlyArray<WordRow>): Document =>
  rows.length === 0 ? {} : { words: rows.map(({ word }) => word) }
