// Which messages of a partition are done. The broker stores one offset for a group: everything before it is done. But
// messages end in any order, and one that takes long must not cause repeats of all that ended behind it. So the commit
// has a note, which the broker stores with the offset: one bit for each message after the offset, set if it is done.
//
// The note also says which messages the member may have begun to handle: those before an offset that it stores in
// advance. If the member ends without notice, they count as delivered once.
//
// The distance between the offset and the end of the note is bounded by `spanMost`. The broker accepts notes of 4,096
// characters.

/** Beyond this distance between the first message that is not done and the newest one, the partition takes no more. */
export const spanMost = 16_384
/** Messages that were already taken when the limit was reached are still added. */
const noteBitsMost = 22_000
const noteShape = /^(?:taken:(\d{1,16}))?;?(?:done:([A-Za-z0-9+/=]*))?$/

export interface CommitState {
  /** Everything before it is done. */
  readonly offset: number
  /** The messages behind it that are done, and those that the member may have begun to handle. */
  readonly note: string
}

/** What a commit says beside the offset. */
interface NoteTerms {
  /** The member may begin to handle messages before this offset. Absent if it has given the partition up. */
  readonly takenTo?: number | undefined
  /** False if the broker accepts only short notes. */
  readonly withDone?: boolean
}

export class OffsetTracker {
  /** Ascending. */
  readonly #pending = new Set<number>()
  /** Every offset before it is pending or done. */
  #position: number
  readonly #start: number
  readonly #doneAtStart: Buffer
  /** The member before this one may have begun to handle messages before this offset, and has ended without notice. */
  readonly suspectsTo: number

  /** Continues from a commit. */
  constructor({ offset, note }: CommitState) {
    this.#position = offset
    this.#start = offset
    const { takenTo, done } = decodeNote(note)
    this.suspectsTo = takenTo
    this.#doneAtStart = done
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

  /** Whether the commit from which this tracker continues says that the message is done. */
  wasDone(offset: number): boolean {
    const bit = offset - this.#start
    return bit >= 0 && ((this.#doneAtStart[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
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

  commit({ takenTo, withDone = true }: NoteTerms = {}): CommitState {
    const offset = this.floor
    const taken = takenTo === undefined ? [] : [`taken:${takenTo}`]
    const done = withDone && this.#pending.size > 0 ? [this.#doneNote(offset)] : []
    return { offset, note: [...taken, ...done].join(";") }
  }

  #doneNote(floor: number): string {
    const bits = Math.min(noteBitsMost, this.#position - floor)
    const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff)
    for (const offset of this.#pending) {
      const bit = offset - floor
      if (bit < bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) & ~(1 << (bit & 7))
    }
    // The bits after the last message must not say that messages are done that do not exist yet.
    const rest = bits & 7
    if (rest > 0) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & ((1 << rest) - 1)
    return `done:${bytes.toString("base64")}`
  }
}

/** A note that this version does not understand says nothing: messages are repeated. */
const decodeNote = (note: string): { readonly takenTo: number; readonly done: Buffer } => {
  const [, takenTo = "0", done = ""] = noteShape.exec(note) ?? []
  return { takenTo: Number(takenTo), done: Buffer.from(done, "base64") }
}

/** How many messages behind the offset are done. */
export const doneInNote = (note: string): number => {
  let count = 0
  for (const byte of decodeNote(note).done) for (let bits = byte; bits !== 0; bits &= bits - 1) count++
  return count
}
