// The steps of one write: which keys to look at, which changes to commit, and what to do about changes whose
// expectations were not met. The code is plain and synchronous, so that the SQLite store can run it inside its writer
// thread, and other stores through Effect (DecidingStore.ts). The runner asks for the next step, executes it, and
// reports the result.
//
// A call may need several commits. The second item of a key goes into the next commit, and so does an item whose change
// missed. If one commit was accepted and a later one is refused, the write fails with an unknown result. The answer
// `ownershipLost` would then be wrong, because it says that nothing was written.
import type { Decision, Known } from "../domain/Decision.ts"
import type { Cursor } from "../domain/DueOrder.ts"
import { decide } from "../domain/decide.ts"
import type { Uuid } from "../domain/Timer.ts"
import { refusedAsUnreadable } from "../domain/unreadableKey.ts"
import {
  itemBytes,
  keyOfItem,
  livesNamedBy,
  specIn,
  type Unstorable,
  type WriteAnswer,
  type WriteItem,
} from "../domain/WriteItem.ts"
import type { Commit, CommitAnswer, Look, StorageLimits } from "../ports/ShardStorage.ts"
import type { BatchAnswer, ShardBatch } from "../ports/TimerStore.ts"
import { type DecidedChange, keyChangeOf, knownToExpect } from "./keyChangeOf.ts"

export type Step =
  | { readonly kind: "look"; readonly looks: ReadonlyArray<Look> }
  | { readonly kind: "commit"; readonly commits: ReadonlyArray<Commit> }
  | { readonly kind: "done" }

/** The write was given up after a part of it may have been stored. Its result is unknown. */
export class WriteGivenUp extends Error {}

/** How often a change may miss before the write is given up. */
const mostMisses = 3

/** Above this share of misses, the next write looks before it commits. */
const missesTolerated = 0.1

/**
 * A look also reads payloads, whose sizes are unknown before. So the first look of a write is small, and each next one
 * is twice as large, as long as the payloads are small.
 */
const keysOfFirstLook = 32
const keysOfLargestLook = 128

/** What a store remembers from one write to the next. */
export class WriteMemory {
  /** Many items of the last write would have missed without a look. */
  looksFirst = false
  readonly #numbers = new Map<number, { readonly epoch: number; readonly number: number }>()

  /** Commits are numbered by shard and epoch, in the order in which they are sent. */
  nextNumber(shard: number, epoch: number): number {
    const last = this.#numbers.get(shard)
    // A call of an older epoch may still be running. The fence refuses it, and the numbers of the newer epoch continue.
    if (last !== undefined && epoch < last.epoch) return 1
    const number = last?.epoch === epoch ? last.number + 1 : 1
    this.#numbers.set(shard, { epoch, number })
    return number
  }
}

interface Entry {
  readonly item: WriteItem
  readonly index: number
  readonly uuid: Uuid
  /** The state that the item expects without a look. `undefined` if it must look. */
  readonly expected: Known | undefined
  /** The item waits for another item of its key in the same write, so it finds the key in use. */
  isBehind: boolean
  known: Known | undefined
  misses: number
  /** The item was committed without a look. */
  isAsExpected: boolean
}

interface Batch {
  readonly shard: number
  readonly epoch: number
  readonly hasEachKeyOnce: boolean
  /** The unanswered items, in order. */
  left: Array<Entry>
  readonly answers: Array<WriteAnswer>
  readonly asExpected: Array<boolean>
  /** The places of rows that items replaced or removed. Few batches have any. */
  vacated: Map<number, Cursor> | undefined
  /** A commit of the batch was accepted, so it has passed the fence. */
  hasPassed: boolean
  /** A change of the batch was executed. */
  hasWritten: boolean
  refusal: "ownershipLost" | "overtaken" | undefined
}

/** The entries of one batch in the next commit. */
interface Part {
  readonly batch: Batch
  readonly entries: ReadonlyArray<Entry>
}

/** A part as it was sent. */
interface SentPart extends Part {
  readonly decisions: ReadonlyArray<Decision<WriteAnswer>>
  /** For each entry, the index of its change in the commit; -1 if it changes nothing. */
  readonly changeOfEntry: ReadonlyArray<number>
}

/** The limits of the storage that a write needs. */
export type WriteLimits = Pick<StorageLimits, "itemBytes" | "batchBytes">

export class Deciding {
  readonly #batches: ReadonlyArray<Batch>
  readonly #memory: WriteMemory
  readonly #batchBytes: number
  readonly #looksFirst: boolean
  #round: ReadonlyArray<Part> | undefined
  #looking: ReadonlyArray<Entry> = []
  #sent: ReadonlyArray<SentPart> = []
  #expectable = 0
  #missed = 0
  #keysALook = keysOfFirstLook
  /** The bytes of payloads that the looks of this round have read. */
  #lookedBytes = 0

  constructor(
    batches: ReadonlyArray<ShardBatch>,
    memory: WriteMemory,
    { itemBytes, batchBytes }: WriteLimits,
  ) {
    this.#memory = memory
    this.#looksFirst = memory.looksFirst
    this.#batchBytes = batchBytes
    this.#batches = batches.map((batch) => toBatch(batch, itemBytes))
  }

  step(): Step {
    this.#round ??= this.#nextRound()
    if (this.#round.length === 0) {
      this.#noteMisses()
      return { kind: "done" }
    }
    this.#looking = this.#toLookAt(this.#round).slice(0, this.#keysALook)
    if (this.#looking.length > 0) return { kind: "look", looks: this.#looking.map(lookOf) }
    const commits: Array<Commit> = []
    this.#sent = this.#round.map((part) => this.#decide(part, commits))
    return { kind: "commit", commits }
  }

  /** Takes the results of the last looks, in order. */
  looked(found: ReadonlyArray<Known>): void {
    let bytes = 0
    for (const [index, entry] of this.#looking.entries()) {
      entry.known = found[index]
      if (entry.known === undefined) throw new WriteGivenUp("the storage left a look without an answer")
      bytes += payloadBytesOf(entry.known)
    }
    if (bytes > this.#batchBytes / 4) this.#keysALook = Math.max(1, this.#keysALook >> 1)
    else this.#keysALook = Math.min(keysOfLargestLook, this.#keysALook * 2)
    this.#lookedBytes += bytes
    if (this.#lookedBytes >= this.#batchBytes) this.#leaveUnlooked()
  }

  /** Takes the answers to the last commits, in order. */
  committed(answers: ReadonlyArray<CommitAnswer>): void {
    for (const [index, part] of this.#sent.entries()) {
      const answer = answers[index]
      if (answer === undefined) throw new WriteGivenUp("the storage left a commit without an answer")
      if (answer.result === "committed") this.#settle(part, answer)
      else if (part.batch.hasWritten) {
        throw new WriteGivenUp(`a part of the write was stored, and the rest was refused (${answer.result})`)
      } else part.batch.refusal = answer.result
    }
    this.#round = undefined
    this.#lookedBytes = 0
  }

  get answers(): ReadonlyArray<BatchAnswer> {
    return this.#batches.map(({ refusal, answers, vacated }) => {
      if (refusal !== undefined) return { result: refusal }
      return vacated === undefined ? { result: "written", answers } : { result: "written", answers, vacated }
    })
  }

  /** By batch: which items were answered without a look. `answerAsExpected` gives the same answers. */
  get asExpected(): ReadonlyArray<ReadonlyArray<boolean>> {
    return this.#batches.map(({ asExpected }) => asExpected)
  }

  /** The first item of each key, for each batch. A batch without changes still passes the fence once. */
  #nextRound(): ReadonlyArray<Part> {
    return this.#batches.flatMap((batch) => {
      if (batch.refusal !== undefined || (batch.left.length === 0 && batch.hasPassed)) return []
      return [{ batch, entries: batch.hasEachKeyOnce ? batch.left : firstOfEachKey(batch.left) }]
    })
  }

  /** The looked-up items fill a commit, so the rest of the round waits for the next one. */
  #leaveUnlooked(): void {
    this.#round = this.#round?.flatMap(({ batch, entries }) => {
      const known = entries.filter((entry) => !this.#mustLook(entry))
      return known.length === 0 ? [] : [{ batch, entries: known }]
    })
  }

  #toLookAt(round: ReadonlyArray<Part>): ReadonlyArray<Entry> {
    const entries: Array<Entry> = []
    for (const part of round) {
      for (const entry of part.entries) if (this.#mustLook(entry)) entries.push(entry)
    }
    return entries
  }

  #mustLook(entry: Entry): boolean {
    if (entry.known !== undefined) return false
    return this.#looksFirst || entry.misses > 0 || entry.isBehind || entry.expected === undefined
  }

  #decide(part: Part, commits: Array<Commit>): SentPart {
    const { shard, epoch } = part.batch
    const changes: Array<DecidedChange> = []
    const decisions: Array<Decision<WriteAnswer>> = []
    const changeOfEntry: Array<number> = []
    for (const entry of part.entries) {
      const { expected } = entry
      const known = entry.known ?? expected
      if (known === undefined) throw new WriteGivenUp("an item was decided without a look")
      if (expected !== undefined && entry.misses === 0) this.#expectable++
      const decision = decided(entry, known)
      const change = keyChangeOf(entry.item, decision, known)
      entry.isAsExpected = entry.known === undefined
      if (
        entry.known !== undefined &&
        expected !== undefined &&
        entry.misses === 0 &&
        !isSame(known, expected)
      )
        this.#missed++
      decisions.push(decision)
      changeOfEntry.push(change === undefined ? -1 : changes.push(change) - 1)
    }
    commits.push({ shard, epoch, number: this.#memory.nextNumber(shard, epoch), changes })
    return { ...part, decisions, changeOfEntry }
  }

  #settle(part: SentPart, answer: Extract<CommitAnswer, { result: "committed" }>): void {
    const { batch, entries, changeOfEntry } = part
    batch.hasPassed = true
    if (answer.missed.length === 0 && answer.refused.length === 0) {
      for (let place = 0; place < entries.length; place++) this.#answer(part, place)
      batch.left = entries.length === batch.left.length ? [] : without(batch.left, entries)
      return
    }
    const missed = new Set(answer.missed)
    const reasons = new Map(answer.refused.map(({ index, reason }) => [index, reason]))
    const done: Array<Entry> = []
    for (const [place, entry] of entries.entries()) {
      const change = changeOfEntry[place] ?? -1
      if (missed.has(change)) {
        this.#missAgain(entry)
        continue
      }
      done.push(entry)
      const reason = reasons.get(change)
      if (reason === undefined) this.#answer(part, place)
      else batch.answers[entry.index] = { result: "unstorable", reason }
    }
    batch.left = without(batch.left, done)
  }

  /** The entry's change, if it has one, was executed. */
  #answer({ batch, entries, decisions, changeOfEntry }: SentPart, place: number): void {
    const entry = entries[place]
    const decision = decisions[place]
    if (entry === undefined || decision === undefined) return
    if ((changeOfEntry[place] ?? -1) >= 0) batch.hasWritten = true
    const vacated = vacatedBy(entry, decision)
    if (vacated !== undefined) {
      batch.vacated ??= new Map()
      batch.vacated.set(entry.index, vacated)
    }
    batch.answers[entry.index] = decision.answer
    batch.asExpected[entry.index] = entry.isAsExpected
  }

  /** The entry stays, and is looked at and decided again. */
  #missAgain(entry: Entry): void {
    if (entry.known === undefined) this.#missed++
    if (++entry.misses > mostMisses) {
      throw new WriteGivenUp(`the row of a key changed ${mostMisses} times between a look and its commit`)
    }
    entry.known = undefined
  }

  #noteMisses(): void {
    if (this.#expectable > 0) this.#memory.looksFirst = this.#missed / this.#expectable > missesTolerated
  }
}

const without = (left: Array<Entry>, done: ReadonlyArray<Entry>): Array<Entry> => {
  const gone = new Set(done)
  return left.filter((entry) => !gone.has(entry))
}

const toBatch = (
  { shard, epoch, items, hasEachKeyOnce = false }: ShardBatch,
  mostItemBytes: number,
): Batch => {
  const answers: Array<WriteAnswer> = new Array(items.length)
  const left: Array<Entry> = []
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    if (item === undefined) continue
    const refused = whyRefused(item, mostItemBytes)
    if (refused !== undefined) answers[index] = refused
    else {
      const { uuid } = keyOfItem(item)
      const expected = knownToExpect(item)
      left.push({
        item,
        index,
        uuid,
        expected,
        isBehind: false,
        known: undefined,
        misses: 0,
        isAsExpected: false,
      })
    }
  }
  return {
    shard,
    epoch,
    hasEachKeyOnce,
    left,
    answers,
    asExpected: new Array(items.length),
    vacated: undefined,
    hasPassed: false,
    hasWritten: false,
    refusal: undefined,
  }
}

/** Why an item cannot be stored, no matter what is stored under its key. */
export const whyRefused = (item: WriteItem, mostItemBytes: number): Unstorable | undefined => {
  const why = specIn(item)?.unreadable
  if (why !== undefined) {
    return {
      result: "unstorable",
      reason: `The timer was read from a row that cannot be read in full: ${why}.`,
      isUnreadable: true,
    }
  }
  const bytes = itemBytes(item)
  if (bytes <= mostItemBytes) return undefined
  return {
    result: "unstorable",
    reason: `The timer has ${bytes} bytes in total; this store accepts at most ${mostItemBytes}. This limit is fixed.`,
  }
}

/** Only a key that was looked at can be unreadable. */
const decided = ({ item, known: looked }: Entry, known: Known): Decision<WriteAnswer> => {
  const decision = decide(item, known)
  const refused = looked === undefined ? undefined : refusedAsUnreadable(decision, looked)
  return refused === undefined ? decision : { answer: refused }
}

/** Only a look can have found such a row, except for outcomes, which name it themselves. */
const vacatedBy = ({ item, known }: Entry, { pending }: Decision<WriteAnswer>): Cursor | undefined => {
  const before = known?.pending
  if (before === undefined || pending === undefined || item.kind === "outcome") return undefined
  return { fireAt: before.fireAt, fireId: before.fireId }
}

const firstOfEachKey = (left: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const keys = new Set<Uuid>()
  for (const { uuid } of left) keys.add(uuid)
  if (keys.size === left.length) return left
  keys.clear()
  return left.filter((entry) => {
    const isFirst = !keys.has(entry.uuid)
    keys.add(entry.uuid)
    if (!isFirst) entry.isBehind = true
    return isFirst
  })
}

const payloadBytesOf = ({ pending, last, lives = [] }: Known): number => {
  let bytes = (pending?.payload?.byteLength ?? 0) + (last?.payload?.byteLength ?? 0)
  for (const { payload } of lives) bytes += payload?.byteLength ?? 0
  return bytes
}

/** Whether the look found the state that the item would have expected without it. */
const isSame = (known: Known, expected: Known): boolean =>
  known.pending?.fireId === expected.pending?.fireId &&
  known.pending?.revision === expected.pending?.revision &&
  known.pending?.attempts === expected.pending?.attempts &&
  known.pending?.askedAt === expected.pending?.askedAt &&
  (expected.pending !== undefined || known.last === undefined)

const lookOf = ({ item }: Entry): Look => {
  const { namespace, timerId, uuid } = keyOfItem(item)
  const lives = livesNamedBy(item)
  return {
    key: { namespace, timerId, uuid },
    ...(lives.length === 0 ? {} : { lives }),
    withPayload: item.kind !== "cancel" && item.kind !== "discard" && item.kind !== "record",
  }
}
