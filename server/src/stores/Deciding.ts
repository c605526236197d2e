// One write, step by step: which keys to look at, which changes to commit, what to do about changes that found something
// else than they expected. This is plain synchronous code, so that the SQLite store runs it inside its writer thread and
// the others run it through Effect (DecidingStore.ts). Whoever runs it asks for the next step, takes it, and reports.
//
// A call may need several commits: a second item of a key goes into the next one, and so does an item whose change
// missed. If one commit was accepted and a later one is refused, the write fails: its result is unknown. To answer
// `ownershipLost` then would claim that nothing was written.
import type { Decision, Known } from "../domain/Decision.ts"
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

/** The write was given up after a part of it may have been stored: its result is unknown. */
export class WriteGivenUp extends Error {}

/** How often a change may miss before the write is given up. */
const mostMisses = 3

/** Past this share of misses, the next write looks before it commits. */
const missesTolerated = 0.1

/**
 * A look brings payloads with it, and nobody knows their sizes before. So the first look of a write is small, and each
 * next one is twice as large, as long as the payloads are.
 */
const keysOfFirstLook = 32
const keysOfLargestLook = 128

/** What a store remembers from write to write. */
export class WriteMemory {
  /** Many of the last write's items would have missed without a look. */
  looksFirst = false
  readonly #numbers = new Map<number, { readonly epoch: number; readonly number: number }>()

  /** Commits are numbered by shard and epoch, in the order in which they set out. */
  nextNumber(shard: number, epoch: number): number {
    const last = this.#numbers.get(shard)
    // A call of an older epoch may still be under way. The fence refuses it, and the count of the newer one goes on.
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
  /** What it is decided from without a look; nothing if it must look. */
  readonly expected: Known | undefined
  /** It waits for another item of its key in the same write, and so finds the key in use. */
  isBehind: boolean
  known: Known | undefined
  misses: number
  /** Committed as decided without a look. */
  isAsExpected: boolean
}

interface Batch {
  readonly shard: number
  readonly epoch: number
  /** In their order, without those that have been answered. */
  left: Array<Entry>
  readonly answers: Array<WriteAnswer>
  readonly asExpected: Array<boolean>
  /** A commit of it was accepted, so that it has passed the fence. */
  hasPassed: boolean
  /** A change of it was carried out. */
  hasWritten: boolean
  refusal: "ownershipLost" | "overtaken" | undefined
}

/** What one batch has in the next commit. */
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

/** What a write must know of its storage. */
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
  /** Payloads that looks of this round have brought. */
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

  /** What the looks of the last step found, in their order. */
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

  /** What became of the commits of the last step, in their order. */
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
    return this.#batches.map(({ refusal, answers }) =>
      refusal === undefined ? { result: "written", answers } : { result: refusal },
    )
  }

  /** By batch, which items were answered without a look: `answerAsExpected` gives the same answers. */
  get asExpected(): ReadonlyArray<ReadonlyArray<boolean>> {
    return this.#batches.map(({ asExpected }) => asExpected)
  }

  /** Of each batch the first item of each key. A batch with nothing to do still passes the fence once. */
  #nextRound(): ReadonlyArray<Part> {
    return this.#batches.flatMap((batch) => {
      if (batch.refusal !== undefined || (batch.left.length === 0 && batch.hasPassed)) return []
      return [{ batch, entries: firstOfEachKey(batch.left) }]
    })
  }

  /** What has been looked at fills a commit: the rest of the round waits for the next one. */
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

  /** The entry's change, if it has one, was carried out. */
  #answer({ batch, entries, decisions, changeOfEntry }: SentPart, place: number): void {
    const entry = entries[place]
    const decision = decisions[place]
    if (entry === undefined || decision === undefined) return
    if ((changeOfEntry[place] ?? -1) >= 0) batch.hasWritten = true
    batch.answers[entry.index] = decision.answer
    batch.asExpected[entry.index] = entry.isAsExpected
  }

  /** The entry stays, is looked at again and decided again. */
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

const toBatch = ({ shard, epoch, items }: ShardBatch, mostItemBytes: number): Batch => {
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
    left,
    answers,
    asExpected: new Array(items.length),
    hasPassed: false,
    hasWritten: false,
    refusal: undefined,
  }
}

/** Why an item cannot be stored, whatever there is under its key. */
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
    reason: `The timer has ${bytes} bytes in all; this store holds at most ${mostItemBytes}, a fixed limit.`,
  }
}

/** Only what was looked at can be unreadable. */
const decided = ({ item, known: looked }: Entry, known: Known): Decision<WriteAnswer> => {
  const decision = decide(item, known)
  const refused = looked === undefined ? undefined : refusedAsUnreadable(decision, looked)
  return refused === undefined ? decision : { answer: refused }
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

/** Whether the look found what would have been expected without it. */
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
