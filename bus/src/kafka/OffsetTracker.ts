// Which messages of a partition are done. The broker stores one offset for a group: everything before it is done. But
// messages end in any order, and one that takes long must not cause repeats of all that ended behind it. So the commit
// has a note, which the broker stores with the offset: one bit for each message after the offset, set if it is done.
//
// The distance between the offset and the end of the note is bounded by `spanMost`. The broker accepts notes of 4,096
// characters.

/** Beyond this distance between the first message that is not done and the newest one, the partition takes no more. */
export const spanMost = 16_384
/** Messages that were already taken when the limit was reached are still added. */
const noteBitsMost = 22_000
const notePrefix = "done:"

export interface CommitState {
  /** Everything before it is done. */
  readonly offset: number
  /** The messages behind it that are done. */
  readonly note: string
}

export class OffsetTracker {
  /** Ascending. */
  readonly #pending = new Set<number>()
  /** Every offset before it is pending or done. */
  #position: number
  readonly #wasDone: (offset: number) => boolean

  /** Continues from a commit. */
  constructor({ offset, note }: CommitState) {
    this.#position = offset
    this.#wasDone = decodeNote(offset, note)
  }

  /** The offset of the first message that is not done, or of the next one. */
  get floor(): number {
    const [first] = this.#pending
    return first ?? this.#position
  }

  get position(): number {
    return this.#position
  }

  get span(): number {
    return this.#position - this.floor
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  /** Whether the commit from which this tracker continues says that the message is done. */
  wasDone(offset: number): boolean {
    return this.#wasDone(offset)
  }

  /** The message is not done yet. Offsets must ascend. */
  begin(offset: number): void {
    this.#pending.add(offset)
    this.passTo(offset + 1)
  }

  /** There is nothing to do before this offset, except for pending messages. */
  passTo(position: number): void {
    this.#position = Math.max(this.#position, position)
  }

  done(offset: number): void {
    this.#pending.delete(offset)
  }

  get commit(): CommitState {
    const offset = this.floor
    return { offset, note: this.#note(offset) }
  }

  #note(floor: number): string {
    if (this.#pending.size === 0) return ""
    const bits = Math.min(noteBitsMost, this.#position - floor)
    const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff)
    for (const offset of this.#pending) {
      const bit = offset - floor
      if (bit < bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) & ~(1 << (bit & 7))
    }
    // The bits after the last message must not say that messages are done that do not exist yet.
    const rest = bits & 7
    if (rest > 0) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & ((1 << rest) - 1)
    return `${notePrefix}${bytes.toString("base64")}`
  }
}

/** A note that this version does not understand says nothing: messages are repeated. */
const decodeNote = (floor: number, note: string): ((offset: number) => boolean) => {
  if (!note.startsWith(notePrefix)) return () => false
  const bytes = Buffer.from(note.slice(notePrefix.length), "base64")
  return (offset) => {
    const bit = offset - floor
    return bit >= 0 && ((bytes[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }
}

/** How many messages behind the offset are done. */
export const doneInNote = (note: string): number => {
  if (!note.startsWith(notePrefix)) return 0
  let count = 0
  for (const byte of Buffer.from(note.slice(notePrefix.length), "base64")) {
    for (let bits = byte; bits !== 0; bits &= bits - 1) count++
  }
  return count
}
