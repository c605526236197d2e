// Timers and finished lives as fields of a pack. Writers and readers are side by side, field by field.
import type { AttemptLog } from "../../domain/AttemptLog.ts"
import type {
  FinishedLife,
  FinishedState,
  Mutable,
  Spec,
  Timer,
  TimerHead,
  TimerKey,
} from "../../domain/Timer.ts"
import type { AddedTerms } from "../../domain/timerFields.ts"
import type { DuePage } from "../../ports/TimerStore.ts"
import { addLog, textOfLog } from "../AttemptLogText.ts"
import { addedColumns, addedValue, addStored, type StoredValue } from "../addedValues.ts"
import { specOfText, textOfSpec } from "../SpecText.ts"
import type { DuePack } from "./calls.ts"
import { type Pack, PackReader, type PackWriter } from "./Pack.ts"

export const writeHead = (out: PackWriter, head: TimerHead): void => {
  writeKey(out, head)
  out.field(head.fireId)
  out.field(head.fireAt)
}

export const unpackHeads = (pack: Pack): ReadonlyArray<TimerHead> => {
  const input = new PackReader(pack)
  const heads: Array<TimerHead> = []
  while (!input.isAtEnd) heads.push({ ...readKey(input), fireId: input.text(), fireAt: input.number() })
  return heads
}

export const unpackDuePage = ({ pack, isLast }: DuePack): DuePage => {
  const input = new PackReader(pack)
  const timers: Array<Timer> = []
  while (!input.isAtEnd) timers.push(readTimer(input))
  return { timers, isLast }
}

export const writeTimer = (out: PackWriter, timer: Timer): void =>
  writeTimerWith(out, timer, timer.attemptLog, timer.payload)

/** Writes the timer with this log and this payload instead of its own. */
export const writeTimerWith = (
  out: PackWriter,
  timer: Timer,
  log: AttemptLog | undefined,
  payload: Uint8Array | undefined,
): void => {
  writeKey(out, timer)
  out.field(timer.fireId)
  out.field(timer.revision)
  out.field(timer.executeAt)
  out.field(timer.fireAt)
  out.field(timer.attempts)
  out.field(timer.firstAttemptAt)
  out.field(logText(log))
  out.field(timer.createdAt)
  out.field(timer.updatedAt)
  out.field(timer.askedAt)
  out.field(timer.correlationId)
  writeAdded(out, timer)
  out.shared(textOfSpec(timer.spec))
  out.bytes(payload)
}

export const readTimer = (input: PackReader): Timer => {
  const namespace = input.text()
  const timerId = input.text()
  const uuid = input.text()
  const fireId = input.text()
  const revision = input.number()
  const executeAt = input.number()
  const fireAt = input.number()
  const attempts = input.number()
  const firstAttemptAt = input.optionalNumber()
  const log = input.optionalText()
  const createdAt = input.number()
  const updatedAt = input.number()
  const askedAt = input.optionalNumber()
  const correlationId = input.text()
  const added = readAdded(input)
  const timer: Mutable<Timer> = {
    namespace,
    timerId,
    uuid,
    fireId,
    revision,
    executeAt,
    fireAt,
    attempts,
    createdAt,
    updatedAt,
    correlationId,
    spec: specOfText(input.shared()),
  }
  const payload = input.bytes()
  if (firstAttemptAt !== undefined) timer.firstAttemptAt = firstAttemptAt
  if (log !== undefined) addLog(timer, log)
  if (askedAt !== undefined) timer.askedAt = askedAt
  if (added !== undefined) addAll(timer, added)
  if (payload !== undefined) timer.payload = payload
  return timer
}

export const writeLife = (out: PackWriter, life: FinishedLife): void => {
  writeKey(out, life)
  out.field(life.state)
  out.field(life.fireId)
  out.field(life.revision)
  out.field(life.executeAt)
  out.field(life.attempts)
  out.field(logText(life.attemptLog))
  out.field(life.createdAt)
  out.field(life.finishedAt)
  out.field(life.latenessMs)
  out.field(life.reason)
  out.field(life.endedBy)
  out.field(life.correlationId)
  writeAdded(out, life)
  out.shared(textOfSpec(life.spec))
  out.bytes(life.payload)
}

export const readLife = (input: PackReader): FinishedLife => {
  const key = readKey(input)
  const state = input.text() as FinishedState
  const fireId = input.text()
  const revision = input.number()
  const executeAt = input.number()
  const attempts = input.number()
  const log = input.optionalText()
  const createdAt = input.number()
  const finishedAt = input.number()
  const latenessMs = input.optionalNumber()
  const reason = input.optionalText()
  const endedBy = input.optionalText()
  const correlationId = input.text()
  const added = readAdded(input)
  const spec = specOfText(input.shared())
  const life: Mutable<FinishedLife> = {
    ...key,
    state,
    fireId,
    revision,
    executeAt,
    attempts,
    createdAt,
    finishedAt,
    correlationId,
    spec,
  }
  const payload = input.bytes()
  if (log !== undefined) addLog(life, log)
  if (latenessMs !== undefined) life.latenessMs = latenessMs
  if (reason !== undefined) life.reason = reason
  if (endedBy !== undefined) life.endedBy = endedBy
  if (added !== undefined) addAll(life, added)
  if (payload !== undefined) life.payload = payload
  return life
}

const writeAdded = (out: PackWriter, row: AddedTerms): void => {
  for (let index = 0; index < addedColumns.length; index++) out.field(addedValue(row, index))
}

/** `undefined` if the row has no added values, which is the usual case. */
const readAdded = (input: PackReader): ReadonlyArray<StoredValue> | undefined => {
  let values: Array<StoredValue> | undefined
  for (let index = 0; index < addedColumns.length; index++) {
    const value = input.optional()
    if (value !== null) {
      values ??= addedColumns.map(() => null)
      values[index] = value
    }
  }
  return values
}

const addAll = (row: AddedTerms & { spec: Spec }, values: ReadonlyArray<StoredValue>): void => {
  for (let index = 0; index < values.length; index++) addStored(row, index, values[index] ?? null)
}

export const logText = (log: AttemptLog | undefined): string | null =>
  log === undefined ? null : textOfLog(log)

export const writeKey = (out: PackWriter, key: TimerKey): void => {
  out.field(key.namespace)
  out.field(key.timerId)
  out.field(key.uuid)
}

export const readKey = (input: PackReader): TimerKey => ({
  namespace: input.text(),
  timerId: input.text(),
  uuid: input.text(),
})
