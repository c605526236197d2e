// Finds changes that a database would refuse or change: texts with a NUL character or a lone surrogate, numbers that are
// not whole, keys that are too long for an index. They are never sent, because one of them would fail its neighbours.
import type { FinishedLife, Timer, TimerKey } from "../domain/Timer.ts"
import { type AddedTerms, addedFields, type TermsByName, type TimerField } from "../domain/timerFields.ts"
import type { KeyChange } from "../ports/ShardStorage.ts"

/** Keys are indexed, and an index entry of PostgreSQL holds at most 2,700 bytes. */
const mostKeyBytes = 1_000

/** Why the change cannot be stored. `undefined` if it can. */
export const whyUnstorable = (change: KeyChange): string | undefined => {
  const { key, pending, finished } = change
  return (
    whyUnstorableByNumbers(change) ??
    whyKey(key) ??
    (pending ? whyTimerTexts(pending) : undefined) ??
    (finished ? whyLifeTexts(finished) : undefined)
  )
}

/** The changes that can be stored, with their places among all, and why the others cannot. */
export const sortedOut = (
  changes: ReadonlyArray<KeyChange>,
  why: (change: KeyChange) => string | undefined = whyUnstorable,
) => {
  const asked: Array<{ readonly change: KeyChange; readonly index: number }> = []
  const refused: Array<{ readonly index: number; readonly reason: string }> = []
  for (const [index, change] of changes.entries()) {
    const reason = why(change)
    if (reason === undefined) asked.push({ change, index })
    else refused.push({ index, reason })
  }
  return { asked, refused }
}

/** Only checks numbers and lengths, which costs almost nothing. */
export const whyUnstorableByNumbers = ({ key, pending, finished }: KeyChange): string | undefined =>
  whyKeyLength(key) ??
  (pending ? whyTimerNumbers(pending) : undefined) ??
  (finished ? whyLifeNumbers(finished) : undefined)

export const whyTimer = (timer: Timer): string | undefined =>
  whyKeyLength(timer) ?? whyTimerNumbers(timer) ?? whyKey(timer) ?? whyTimerTexts(timer)

const whyTimerNumbers = (timer: Timer): string | undefined =>
  whyNumber("revision", timer.revision) ??
  whyNumber("executeAt", timer.executeAt) ??
  whyNumber("fireAt", timer.fireAt) ??
  whyCount("attempts", timer.attempts) ??
  whyNumber("createdAt", timer.createdAt) ??
  whyNumber("updatedAt", timer.updatedAt) ??
  whyNumber("firstAttemptAt", timer.firstAttemptAt) ??
  whyNumber("askedAt", timer.askedAt)

const whyLifeNumbers = (life: FinishedLife): string | undefined =>
  whyNumber("revision", life.revision) ??
  whyNumber("executeAt", life.executeAt) ??
  whyCount("attempts", life.attempts) ??
  whyNumber("createdAt", life.createdAt) ??
  whyNumber("finishedAt", life.finishedAt) ??
  whyNumber("latenessMs", life.latenessMs)

const whyTimerTexts = (timer: Timer): string | undefined =>
  whyFireId(timer.fireId) ?? whyText("correlationId", timer.correlationId) ?? whyAddedTexts(timer)

const whyLifeTexts = (life: FinishedLife): string | undefined =>
  whyFireId(life.fireId) ??
  whyText("correlationId", life.correlationId) ??
  whyText("reason", life.reason) ??
  whyText("endedBy", life.endedBy) ??
  whyAddedTexts(life)

const addedNames = (addedFields as ReadonlyArray<TimerField>).map(({ name }) => name)

/** The elements of lists are also words, which are stored as texts. */
const whyAddedTexts = (row: AddedTerms): string | undefined => {
  for (const name of addedNames) {
    const value = (row as TermsByName)[name]
    for (const part of Array.isArray(value) ? value : [value]) {
      const why = typeof part === "number" ? whyNumber(name, part) : whyText(name, part as string | undefined)
      if (why !== undefined) return why
    }
  }
  return undefined
}

const whyKeyLength = ({ namespace, timerId }: TimerKey): string | undefined => {
  // A UTF-16 code unit takes at most three bytes.
  if (3 * (namespace.length + timerId.length) <= mostKeyBytes) return undefined
  return Buffer.byteLength(namespace) + Buffer.byteLength(timerId) > mostKeyBytes
    ? `The key is longer than the ${mostKeyBytes} bytes that this store can index, a fixed limit.`
    : undefined
}

/** Whether anything can be stored under the key. If not, nothing can be found there. */
export const canBeKey = (key: TimerKey): boolean =>
  whyKeyLength(key) === undefined && whyKey(key) === undefined

const whyKey = ({ namespace, timerId, uuid }: TimerKey): string | undefined =>
  hexShape.test(uuid)
    ? (whyText("namespace", namespace) ?? whyText("timerId", timerId))
    : `uuid: "${uuid}" is not 32 hex digits.`

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const hexShape = /^[0-9a-f]{32}$/

/** Only a UUID can identify an arming here. */
export const isFireId = (id: string): boolean => uuidShape.test(id)

const whyFireId = (id: string): string | undefined =>
  isFireId(id) ? undefined : `fireId: "${id}" is not a UUID.`

const whyNumber = (name: string, value: number | undefined): string | undefined =>
  value === undefined || Number.isSafeInteger(value)
    ? undefined
    : `${name}: ${value} is not a whole number that this store can hold.`

/** Counts are stored in four bytes. */
const whyCount = (name: string, value: number): string | undefined =>
  Number.isInteger(value) && value >= 0 && value < 2 ** 31
    ? undefined
    : `${name}: ${value} is not a count that this store can hold.`

const whyText = (name: string, text: string | undefined): string | undefined =>
  text === undefined || (!text.includes("\0") && text.isWellFormed())
    ? undefined
    : `${name}: the text contains a NUL character or a lone surrogate, which this store cannot hold.`
