// Timers and lives as documents. A key's document (collection `keys`) has the pending timer and refers to the last life.
// Each finished life is a document of its own (`lives`). Specs, attempt logs and lists are JSON texts, as in the SQL
// stores, so that a damaged one is recognised in the same way. Words are an array that an index covers, so they change
// together with their timer or life.

import type { Document } from "@punctual/documents/mongodb/Commands"
import type { FinishedLife, Mutable, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import { type WordRow, wordRowsOfLife, wordRowsOfTimer } from "../../domain/words.ts"
import { addLog, textOfLog } from "../AttemptLogText.ts"
import { addedColumns, addStoredOf } from "../addedValues.ts"
import { specOfText, textOfSpec } from "../SpecText.ts"

export const lifeIdOf = (uuid: string, fireId: string): string => `${uuid}:${fireId}`

/** The pending timer, without its key and its payload. */
export const timerDocument = (timer: Timer): Document => ({
  ...valuesOf(pendingFields, timer),
  spec: textOfSpec(timer.spec),
  ...wordsIn(wordRowsOfTimer(timer)),
})

/** The life, without its key, its stamp and its entry number. Only dead letters keep their payload. */
export const lifeDocument = (life: FinishedLife): Document => ({
  ...valuesOf(finishedFields, life),
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

// The casts below are needed because the table of fields, not the compiler, knows that all fields are set.
export const timerOf = (row: Document): Timer => {
  const timer = { ...timerKeyIn(row), spec: specOfText(row["spec"]) } as Mutable<Timer>
  addValues(timer as unknown as TermsByName, pendingFields, row)
  return withTexts(timer, row)
}

export const lifeOf = (row: Document): FinishedLife => {
  const life = { ...timerKeyIn(row), spec: specOfText(row["spec"]) } as Mutable<FinishedLife>
  addValues(life as unknown as TermsByName, finishedFields, row)
  return withTexts(life, row)
}

const valuesOf = (fields: ReadonlyArray<TimerField>, row: Timer | FinishedLife): Document => {
  const values: Document = {}
  for (const { name, column, kind } of fields) {
    const value = (row as unknown as TermsByName)[name]
    if (value === undefined) continue
    if (kind === "texts") values[column] = JSON.stringify(value)
    else values[column] = kind === "log" ? textOfLog(value as NonNullable<Timer["attemptLog"]>) : value
  }
  return values
}

/** Logs and added fields are texts that may be damaged: see `withTexts`. */
const addValues = (row: TermsByName, fields: ReadonlyArray<TimerField>, from: Document): void => {
  for (const { name, column, kind } of fields) {
    const value = from[column]
    if (value !== undefined && kind !== "log" && !addedColumns.includes(column)) row[name] = value
  }
}

const withTexts = <A extends Mutable<Timer> | Mutable<FinishedLife>>(row: A, from: Document): A => {
  if (from["last_attempt"] !== undefined) addLog(row, from["last_attempt"])
  addStoredOf(row, from)
  const payload: Uint8Array | undefined = from["payload"]
  // The driver returns Buffers; payloads in the domain are plain byte arrays.
  if (payload !== undefined)
    row.payload = new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
  return row
}

const wordsIn = (rows: ReadonlyArray<WordRow>): Document =>
  rows.length === 0 ? {} : { words: rows.map(({ word }) => word) }
