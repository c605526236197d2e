// A process that recovers a store, writes, merges and closes it, with a disk that fails at one of its calls. Whatever the
// process does then, the files must have every answered write, as they are and after a power cut.
import { cpSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { SeededRandom } from "../SeededRandom.ts"
import { at } from "../StoreFixture.ts"
import { CutDisk, cutForms } from "./CutDisk.ts"
import { type InjectedFault, type RecordedPlace, record, TraceReader } from "./DiskRecording.ts"
import type { PlannedState } from "./PlannedWrites.ts"
import {
  allowedAfter,
  argumentsOf,
  faultOf,
  mustBeRecorded,
  type PlannedLife,
  placeIn,
  statesOf,
} from "./RecordedCuts.ts"

const writes = 25

/** Calls of the second process that can fail, with how many of them it makes at least. */
const faultyCalls = [
  { call: "pwrite64", error: "EIO", calls: 700 },
  { call: "fsync", error: "EIO", calls: 35 },
  { call: "pwrite64", error: "ENOSPC", calls: 700 },
  { call: "pread64", error: "EIO", calls: 120 },
] as const

export interface TriedFault extends InjectedFault {
  /** Whether the process made so many calls. */
  readonly isInjected: boolean
  readonly exitCode: number | undefined
  /** What is wrong, or undefined if nothing is. */
  readonly found: string | undefined
}

/** Tries faults that are spread over all calls of the process. */
export async function* tryFaults(folder: string, seed: number, count: number): AsyncGenerator<TriedFault> {
  const place = placeIn(folder)
  const first: PlannedLife = { seed, firstWrite: 1, writes, layerMoves: 30, ending: "kill" }
  const traceFile = join(folder, "trace")
  await record(place, argumentsOf(place, first), traceFile)
  const before = new TraceReader(place)
  await before.read(traceFile)
  const kept = join(folder, "kept")
  cpSync(place.folder, kept, { recursive: true })
  const states = statesOf(seed, 2 * writes)
  for (let index = 0; index < count; index++) {
    const { call, error, calls } = at(faultyCalls, index % faultyCalls.length)
    const round = Math.floor(index / faultyCalls.length)
    const when = 1 + Math.floor(((round + 0.5) * calls) / Math.ceil(count / faultyCalls.length))
    rmSync(place.folder, { recursive: true })
    cpSync(kept, place.folder, { recursive: true })
    yield await tryFault({ folder, place, before, states, seed }, { call, error, when })
  }
}

interface Recovered {
  readonly folder: string
  readonly place: RecordedPlace
  /** The operations of the first process. */
  readonly before: TraceReader
  readonly states: ReadonlyArray<PlannedState>
  readonly seed: number
}

const tryFault = async (
  { folder, place, before, states, seed }: Recovered,
  fault: InjectedFault,
): Promise<TriedFault> => {
  const second: PlannedLife = { seed, firstWrite: writes + 1, writes, layerMoves: 20, ending: "close" }
  const traceFile = join(folder, "trace")
  const exitCode = await record(place, argumentsOf(place, second), traceFile, fault)
  const reader = new TraceReader(place, before.known)
  await reader.read(traceFile)
  const disk = new CutDisk()
  let answered = 0
  for (const operation of [...before.operations, ...reader.operations]) {
    if (operation.kind === "answered") answered = operation.write
    else disk.take(operation)
  }
  mustBeRecorded(place, disk)
  const left = join(folder, "left")
  mkdirSync(left, { recursive: true })
  const random = new SeededRandom(seed + fault.when)
  const found = cutForms
    .map((form) => faultOf(disk, left, form, random, allowedAfter(states, answered)))
    .find((text) => text !== undefined)
  return { ...fault, isInjected: reader.injected > 0, exitCode, found }
}
