// Records the disk of several processes that write to the same store, one after the other, and tries cuts of it.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { isEveryCrashTried } from "../effort.ts"
import { SeededRandom } from "../SeededRandom.ts"
import { at } from "../StoreFixture.ts"
import { CutDisk, type CutForm, cutForms } from "./CutDisk.ts"
import { type DiskOperation, type RecordedPlace, record, TraceReader } from "./DiskRecording.ts"
import { type Allowed, examineCut } from "./examineCut.ts"
import { type PlannedState, PlannedWrites } from "./PlannedWrites.ts"
import { recordedItems } from "./recordedPlan.ts"

interface Life {
  readonly writes: number
  readonly layerMoves: number
  readonly ending: "kill" | "close"
}

/** Small layers merge in slices of one entry. A layer of 100 moves merges in slices of whole passes. */
const lives: ReadonlyArray<Life> = isEveryCrashTried
  ? [
      { writes: 100, layerMoves: 40, ending: "kill" },
      { writes: 100, layerMoves: 100, ending: "kill" },
      { writes: 60, layerMoves: 20, ending: "close" },
      { writes: 40, layerMoves: 30, ending: "close" },
    ]
  : [
      { writes: 50, layerMoves: 30, ending: "kill" },
      { writes: 30, layerMoves: 20, ending: "close" },
    ]

export const storeName = "timers.db"
const writerFile = fileURLToPath(new URL("recordedWriter.ts", import.meta.url))

export interface PlannedLife extends Life {
  readonly seed: number
  readonly firstWrite: number
}

/** The arguments of a process that makes these writes. */
export const argumentsOf = (place: RecordedPlace, life: PlannedLife): ReadonlyArray<string> => {
  const { seed, firstWrite, writes, layerMoves, ending } = life
  const numbers = [seed, firstWrite, firstWrite + writes - 1, layerMoves].map(String)
  return [writerFile, join(place.folder, storeName), place.answersFile, ...numbers, ending]
}

/** Makes the folder of the store. */
export const placeIn = (folder: string): RecordedPlace => {
  const store = join(folder, "store")
  mkdirSync(store)
  const files = ["", "-wal", "-journal"].map((ending) => join(store, `${storeName}${ending}`))
  return { folder: store, files, answersFile: join(folder, "answers") }
}

export interface RecordedDisk {
  readonly seed: number
  readonly operations: ReadonlyArray<DiskOperation>
  /** What must be there after each write. The first one is the empty store. */
  readonly states: ReadonlyArray<PlannedState>
}

/** `folder` is for its files. */
export const recordDisk = async (folder: string, seed: number): Promise<RecordedDisk> => {
  const place = placeIn(folder)
  const reader = new TraceReader(place)
  const disk = new CutDisk()
  let taken = 0
  let firstWrite = 1
  for (const [index, life] of lives.entries()) {
    const traceFile = join(folder, `trace-${index}`)
    const code = await record(place, argumentsOf(place, { ...life, seed, firstWrite }), traceFile)
    if (life.ending === "close" && code !== 0) throw new Error(`the recorded process ended with ${code}`)
    await reader.read(traceFile)
    const { operations } = reader
    for (; taken < operations.length; taken++) disk.take(at(operations, taken))
    mustBeRecorded(place, disk)
    firstWrite += life.writes
  }
  return { seed, operations: reader.operations, states: statesOf(seed, firstWrite - 1) }
}

/** A recording that lacks an operation would prove nothing. */
export const mustBeRecorded = ({ files }: RecordedPlace, disk: CutDisk): void => {
  for (const file of files) {
    const [real, recorded] = [
      existsSync(file) ? readFileSync(file) : undefined,
      disk.writtenTo(basename(file)),
    ]
    const isSame =
      real === undefined ? recorded === undefined : recorded && Buffer.compare(real, recorded) === 0
    if (!isSame) throw new Error(`the recording of ${file} is not complete`)
  }
}

export const statesOf = (seed: number, writes: number): ReadonlyArray<PlannedState> => {
  const planned = new PlannedWrites(new SeededRandom(seed), recordedItems)
  const states = [planned.state]
  for (let write = 0; write < writes; write++) {
    planned.next()
    states.push(planned.state)
  }
  return states
}

/** One cut: after how many operations, and in which form. */
export interface TriedCut {
  readonly operations: number
  readonly form: CutForm
  /** Whether something was written that was not yet synced, and may be lost. */
  readonly isLossy: boolean
  /** What is wrong, or undefined if nothing is. */
  readonly fault: string | undefined
}

/** Tries cuts that are spread evenly over the recording. Each operation in turn gets each form. */
export function* tryCuts(
  { seed, operations, states }: RecordedDisk,
  folder: string,
  count: number,
): Generator<TriedCut> {
  const disk = new CutDisk()
  const random = new SeededRandom(seed)
  let answered = 0
  let taken = 0
  for (let cut = 0; cut < count; cut++) {
    const until = Math.floor(((cut + 1) * operations.length) / count)
    for (; taken < until; taken++) {
      const operation = operations[taken]
      if (operation?.kind === "answered") answered = operation.write
      else if (operation !== undefined) disk.take(operation)
    }
    const form = cutForms[cut % cutForms.length] ?? "kill"
    const fault = faultOf(disk, folder, form, random, allowedAfter(states, answered))
    yield { operations: taken, form, isLossy: form.startsWith("powerCut") && !disk.isSynced, fault }
  }
}

export const allowedAfter = (states: ReadonlyArray<PlannedState>, answered: number): Allowed => {
  const before = states[answered]
  if (before === undefined) throw new Error(`there is no write ${answered}`)
  return [before, states[answered + 1] ?? before]
}

/** Makes the files that a cut leaves in that folder, and looks at them. */
export const faultOf = (
  disk: CutDisk,
  folder: string,
  form: CutForm,
  random: SeededRandom,
  allowed: Allowed,
): string | undefined => {
  const path = join(folder, storeName)
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${ending}`, { force: true })
  disk.leave(folder, form, random)
  return examineCut(path, allowed)
}
