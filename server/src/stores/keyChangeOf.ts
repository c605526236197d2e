// Converts a decision into the change that a storage executes: the effects, and what they expect to find under the key.
// Three things can change a row between a look and its commit: an insert without an owner, pruning, and an earlier call
// of the same owner that was given up and arrives late. So every change names the state that its decision is based on.
import { type Decision, type Known, nothingKnown } from "../domain/Decision.ts"
import { decide } from "../domain/decide.ts"
import type { Mutable, Timer } from "../domain/Timer.ts"
import { keyOfItem, type WriteAnswer, type WriteItem } from "../domain/WriteItem.ts"
import { type WordChange, type WordRow, wordRowsOfLife, wordRowsOfTimer } from "../domain/words.ts"
import type { Expectation, KeyChange } from "../ports/ShardStorage.ts"

/** A change with the item and the answer that belong to it. Storages only need the change. */
export interface DecidedChange extends KeyChange {
  readonly item: WriteItem
  readonly answer: WriteAnswer
}

/** `undefined` if the decision changes nothing. */
export const keyChangeOf = (
  item: WriteItem,
  decision: Decision<WriteAnswer>,
  known: Known,
): DecidedChange | undefined => {
  const { answer, pending, finished, removesDead } = decision
  if (pending === undefined && finished === undefined && removesDead === undefined) return undefined
  // This runs for every write. Fields are assigned one by one, because object spread is much slower here.
  const change: Mutable<DecidedChange> = {
    item,
    answer,
    key: keyOfItem(item),
    expects: expectationOf(item, decision, known),
    payload: decision.payloadChanged === true ? "write" : "keep",
    tally: decision.tally ?? noTally,
  }
  if (pending !== undefined) change.pending = pending
  if (pending && pending.spec === known.pending?.spec) change.keepsSpec = true
  if (finished !== undefined) change.finished = finished
  if (removesDead !== undefined) change.removesLife = true
  const words = wordChangeOf(decision, known)
  if (words !== undefined) change.words = words
  return change
}

/** `undefined` if no row has words, or if all keep theirs. This is found without allocating anything. */
const wordChangeOf = (
  { pending, finished, corrects, removesDead }: Decision<WriteAnswer>,
  known: Known,
): WordChange | undefined => {
  const before = pending === undefined ? undefined : known.pending
  const isKept = pending && before !== undefined && hasSameWords(pending, before)
  const gone = corrects ?? removesDead
  const rowsBefore = before === undefined || isKept ? noWords : wordRowsOfTimer(before)
  const rowsAfter = pending && !isKept ? wordRowsOfTimer(pending) : noWords
  const goneRows = gone === undefined ? noWords : wordRowsOfLife(gone)
  const lifeRows = finished === undefined ? noWords : wordRowsOfLife(finished)
  if (rowsBefore.length + rowsAfter.length + goneRows.length + lifeRows.length === 0) return undefined
  return { removed: [...rowsBefore, ...goneRows], added: [...rowsAfter, ...lifeRows] }
}

const noWords: ReadonlyArray<WordRow> = []

const hasSameWords = (a: Timer, b: Timer): boolean =>
  a.fireId === b.fireId &&
  a.fireAt === b.fireAt &&
  a.revision === b.revision &&
  a.correlationId === b.correlationId &&
  a.tags === b.tags

/** The words of a timer whose key is unused. */
export const wordsOfNew = (timer: Timer): { readonly words?: WordChange } => {
  const added = wordRowsOfTimer(timer)
  return added.length === 0 ? {} : { words: { removed: noWords, added } }
}

const noTally = {}
const unusedKey: Expectation = { pending: null, last: null }

/**
 * If the pending row is unchanged, no life of the key has ended since. So the last life is checked only if no pending
 * row is expected.
 */
const expectationOf = (item: WriteItem, decision: Decision<WriteAnswer>, known: Known): Expectation => {
  const { pending, last } = known
  const isOfPending = decision.pending !== undefined || item.kind === "restore" || item.kind === "schedule"
  const life = lifeExpected(decision)
  if (life === undefined && isOfPending) {
    if (pending !== undefined) return { pending }
    return last === undefined ? unusedKey : { pending: null, last: last.fireId }
  }
  const row = pending === undefined ? { pending: null, last: last?.fireId ?? null } : { pending }
  return { ...(isOfPending ? row : {}), ...(life === undefined ? {} : { life }) }
}

const lifeExpected = ({
  finished,
  corrects,
  addsOnce,
  removesDead,
}: Decision<WriteAnswer>): Expectation["life"] => {
  const there = corrects ?? removesDead
  if (there !== undefined) return { fireId: there.fireId, minRevision: there.revision, state: there.state }
  return addsOnce && finished !== undefined
    ? { fireId: finished.fireId, minRevision: finished.revision, state: null }
    : undefined
}

/**
 * The state that nearly every item of a kind finds: a create finds an unused key, and an outcome finds the timer as it
 * was fired. Such an item is committed without a look. `undefined` for items that must look first.
 */
export const knownToExpect = (item: WriteItem): Known | undefined => {
  switch (item.kind) {
    case "put":
    case "restore":
      return nothingKnown
    case "schedule":
      return item.cancels ? undefined : nothingKnown
    case "outcome":
      return item.attempt === item.timer.attempts + 1 ? { pending: item.timer, last: undefined } : undefined
    default:
      return undefined
  }
}

/** The answer to an item whose change was committed without a look. */
export const answerAsExpected = (item: WriteItem): WriteAnswer =>
  decide(item, knownToExpect(item) ?? nothingKnown).answer
