// Words by which timers and lives are found: one for each tag, and one for a correlation id of the caller. Stores keep
// them in a separate index (`lookups`), so that a filter by a word reads only the matching rows. A timer without tags
// and correlation id has no entry in the index.
//
// A correlation id that the service made is not a word, because every timer would need an entry. Such ids are
// recognised by their form, a UUID of version 8, so a timer need not store who made its id. If a caller gives such an
// id, that timer has no word for it either. A filter by the id scans the namespace and finds all timers that have it.
import type { FinishedLife, FinishedState, Timer } from "./Timer.ts"

/** One row of the index, ordered by (atMs, fireId). atMs is fireAt or finishedAt. */
export interface WordRow {
  readonly word: string
  readonly state: "pending" | FinishedState
  readonly atMs: number
  readonly fireId: string
  readonly revision: number
}

/** The changes of the index for a change of a key. */
export interface WordChange {
  readonly removed: ReadonlyArray<WordRow>
  readonly added: ReadonlyArray<WordRow>
}

/**
 * Turns a new UUID of version 7 into the form of correlation ids that the service makes. It is built in a buffer: a
 * string that is put together from parts would be copied when it is first read, which takes 2 µs of each create.
 */
export const madeCorrelationId = (uuidV7: string): string => {
  correlationText.write(uuidV7, "latin1")
  correlationText[versionPlace] = versionDigit
  return correlationText.toString("latin1")
}

const correlationText = Buffer.alloc(36)
const versionPlace = 14
const versionDigit = 0x38
const earlierVersionDigit = 0x37

/** Longer ids are found by a scan, because the size of an index entry is limited. */
const mostChars = 255

export const wordOfTag = (tag: string): string => `t:${tag}`

/** `undefined` if the id is not a word. */
export const wordOfCorrelation = (id: string): string | undefined =>
  isUuidOf(id, versionDigit) || id.length > mostChars ? undefined : `c:${id}`

/**
 * Whether stored rows with this correlation id may have no word for it. Programs without the index made ids of this
 * form, and the migration that made the index left them out.
 */
export const mayLackWord = (id: string): boolean => isUuidOf(id, earlierVersionDigit)

const isUuidOf = (id: string, version: number): boolean =>
  id.length === 36 &&
  id.charCodeAt(versionPlace) === version &&
  id.charCodeAt(8) === 0x2d &&
  id.charCodeAt(13) === 0x2d &&
  id.charCodeAt(18) === 0x2d &&
  id.charCodeAt(23) === 0x2d

const none: ReadonlyArray<string> = []

const wordsOf = ({ tags, correlationId }: Pick<Timer, "tags" | "correlationId">): ReadonlyArray<string> => {
  const correlation = wordOfCorrelation(correlationId)
  if (tags === undefined) return correlation === undefined ? none : [correlation]
  // The contract refuses repeated tags and long tags, but an edited archive may have them.
  const words = [...new Set(tags)].filter((tag) => tag.length <= mostChars).map(wordOfTag)
  return correlation === undefined ? words : [...words, correlation]
}

/** Whether the index may find this timer or life by the word. */
export const hasWord = (row: Pick<Timer, "tags" | "correlationId">, word: string): boolean =>
  wordsOf(row).includes(word)

/** The rows of a pending timer. */
export const wordRowsOfTimer = (timer: Timer): ReadonlyArray<WordRow> =>
  rows(wordsOf(timer), "pending", timer.fireAt, timer)

/** The rows of a finished life. */
export const wordRowsOfLife = (life: FinishedLife): ReadonlyArray<WordRow> =>
  rows(wordsOf(life), life.state, life.finishedAt, life)

const noRows: ReadonlyArray<WordRow> = []

const rows = (
  words: ReadonlyArray<string>,
  state: WordRow["state"],
  atMs: number,
  { fireId, revision }: Pick<Timer, "fireId" | "revision">,
): ReadonlyArray<WordRow> =>
  words.length === 0 ? noRows : words.map((word) => ({ word, state, atMs, fireId, revision }))
