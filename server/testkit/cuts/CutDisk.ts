// A disk of which every operation was recorded, and what a kill or a power cut leaves of it at any moment. A kill of the
// process leaves everything that was written. A power cut leaves what was synced. Of the rest it leaves any part, in
// sectors of 512 bytes: none of it, all of it, or some sectors of some writes, whatever their order was.
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { SeededRandom } from "../SeededRandom.ts"
import type { DiskOperation } from "./DiskRecording.ts"

/** How the process or the machine ends. */
export const cutForms = [
  /** A kill: everything that was written is there. */
  "kill",
  /** A kill in the middle of the last write. */
  "killWithinWrite",
  /** A power cut: nothing is there that was not synced. */
  "powerCut",
  /** A power cut: some sectors are there that were not synced. */
  "powerCutWithRemains",
  /** The same, and some of the other sectors have any content. */
  "powerCutWithGarbage",
] as const
export type CutForm = (typeof cutForms)[number]

const sectorBytes = 512

type Change = Extract<DiskOperation, { kind: "write" | "truncate" }>

/** A file's bytes, which grow as they are written. */
class Bytes {
  #room = Buffer.alloc(1 << 16)
  #size = 0

  static of({ shown }: Bytes): Bytes {
    const copy = new Bytes()
    copy.write(0, shown)
    return copy
  }

  get shown(): Uint8Array {
    return this.#room.subarray(0, this.#size)
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#reserve(offset + bytes.byteLength)
    this.#room.set(bytes, offset)
    this.#size = Math.max(this.#size, offset + bytes.byteLength)
  }

  truncate(size: number): void {
    this.#reserve(size)
    if (size < this.#size) this.#room.fill(0, size, this.#size)
    this.#size = size
  }

  #reserve(size: number): void {
    if (size <= this.#room.byteLength) return
    const room = Buffer.alloc(2 * size)
    room.set(this.shown)
    this.#room = room
  }
}

/** One file. If a name is removed and made again, that is another file. */
class RecordedFile {
  readonly written = new Bytes()
  readonly synced = new Bytes()
  unsynced: Array<Change> = []

  take(change: Change): void {
    apply(this.written, change)
    this.unsynced.push(change)
  }

  sync(): void {
    for (const change of this.unsynced) apply(this.synced, change)
    this.unsynced = []
  }
}

const apply = (bytes: Bytes, change: Change): void => {
  if (change.kind === "write") bytes.write(change.offset, change.bytes)
  else bytes.truncate(change.size)
}

export class CutDisk {
  readonly #files = new Map<string, RecordedFile>()
  /** The names that the folder had when it was synced. */
  #syncedFiles = new Map<string, RecordedFile>()
  #last: Change | undefined

  take(operation: DiskOperation): void {
    this.#last = undefined
    switch (operation.kind) {
      case "create":
        this.#files.set(operation.file, new RecordedFile())
        return
      case "remove":
        this.#files.delete(operation.file)
        return
      case "syncFolder":
        this.#syncedFiles = new Map(this.#files)
        return
      case "sync":
        this.#file(operation.file).sync()
        return
      case "write":
      case "truncate":
        this.#last = operation
        this.#file(operation.file).take(operation)
    }
  }

  /** All bytes of a file, or undefined if there is no such file. */
  writtenTo(name: string): Uint8Array | undefined {
    return this.#files.get(name)?.written.shown
  }

  /** Whether a power cut could leave less than a kill. */
  get isSynced(): boolean {
    const isFolderSynced =
      this.#files.size === this.#syncedFiles.size &&
      [...this.#files].every(([name, file]) => this.#syncedFiles.get(name) === file)
    return isFolderSynced && [...this.#files.values()].every(({ unsynced }) => unsynced.length === 0)
  }

  /** Writes what the cut leaves into a folder, and removes the other files of that disk there. */
  leave(folder: string, form: CutForm, random: SeededRandom): void {
    const isPowerCut = form !== "kill" && form !== "killWithinWrite"
    const names = new Set([...this.#files.keys(), ...this.#syncedFiles.keys()])
    // The names and the bytes reach the disk in any order.
    const hasNewNames = !isPowerCut || (form !== "powerCut" && random.below(2) === 0)
    for (const name of names) {
      const file = (hasNewNames ? this.#files : this.#syncedFiles).get(name)
      const path = join(folder, name)
      if (file === undefined) rmSync(path, { force: true })
      else writeFileSync(path, this.#left(file, form, random))
    }
  }

  #left(file: RecordedFile, form: CutForm, random: SeededRandom): Uint8Array {
    switch (form) {
      case "kill":
        return file.written.shown
      case "killWithinWrite":
        return this.#last !== undefined && file.unsynced.at(-1) === this.#last
          ? withoutEnd(file, this.#last, random)
          : file.written.shown
      case "powerCut":
        return file.synced.shown
      default:
        return withRemains(file, random, form === "powerCutWithGarbage")
    }
  }

  #file(name: string): RecordedFile {
    const file = this.#files.get(name)
    if (file === undefined) throw new Error(`${name} was written before it was made`)
    return file
  }
}

/** The last write has come only as far as some byte. */
const withoutEnd = ({ synced, unsynced }: RecordedFile, last: Change, random: SeededRandom): Uint8Array => {
  const bytes = Bytes.of(synced)
  for (const change of unsynced) if (change !== last) apply(bytes, change)
  if (last.kind === "write") {
    bytes.write(last.offset, last.bytes.subarray(0, random.below(last.bytes.byteLength)))
  }
  return bytes.shown
}

/** Each cut keeps another share of the sectors. Half of them also keep or lose whole writes. */
const withRemains = (
  { synced, unsynced }: RecordedFile,
  random: SeededRandom,
  hasGarbage: boolean,
): Uint8Array => {
  const bytes = Bytes.of(synced)
  const share = random.next()
  const isWhole = !hasGarbage && random.below(2) === 0
  for (const change of unsynced) {
    if (change.kind === "truncate" || isWhole) {
      if (random.next() < share) apply(bytes, change)
      continue
    }
    const { offset, bytes: written } = change
    let from = 0
    while (from < written.byteLength) {
      const until = Math.min(written.byteLength, from + sectorBytes - ((offset + from) % sectorBytes))
      if (random.next() < share) bytes.write(offset + from, written.subarray(from, until))
      else if (hasGarbage && random.below(2) === 0) bytes.write(offset + from, garbage(until - from, random))
      from = until
    }
  }
  return bytes.shown
}

const garbage = (size: number, random: SeededRandom): Uint8Array =>
  Uint8Array.from({ length: size }, () => random.below(256))
