// Attempt logs as JSON text in SQL stores. The column is called `last_attempt`, because at first it held only that, as
// one object. Such a text is read as a log with one attempt.
import type { AttemptLog } from "../domain/AttemptLog.ts"
import type { Attempt, Spec } from "../domain/Timer.ts"
import { areNumbers, isFields, isNumberIfAny, isTextIfAny, jsonOf } from "./jsonText.ts"
import { unreadableSpec } from "./SpecText.ts"

export const textOfLog = (log: AttemptLog): string => JSON.stringify(log)

/** `undefined` if the text is not a log. */
export const logOfText = (text: string): AttemptLog | undefined => {
  const json = jsonOf(text)
  const log: unknown = Array.isArray(json) ? json : [json]
  return isLog(log) ? log : undefined
}

/** Adds the log to a row that was read. If the log is unreadable, the whole row is. */
export const addLog = (row: { spec: Spec; attemptLog?: AttemptLog }, text: string): void => {
  const log = logOfText(text)
  if (log !== undefined) row.attemptLog = log
  else if (row.spec.unreadable === undefined) row.spec = unreadableSpec("its attempt log has another shape")
}

const isLog = (json: unknown): json is AttemptLog => Array.isArray(json) && json.every(isAttempt)

const attemptNumbers = ["at", "durationMs"] as const

const isAttempt = (json: unknown): json is Attempt =>
  isFields<keyof Attempt>(json) &&
  areNumbers(json, attemptNumbers) &&
  isNumberIfAny(json.status) &&
  isTextIfAny(json.error) &&
  isTextIfAny(json.answer)
