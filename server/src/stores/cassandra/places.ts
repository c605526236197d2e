// The rows of a shard's partition, and their order. A condition can guard only one partition of one table, so all rows
// of a shard that a commit changes are in one partition: `kind` says what a row is, and `place` where it is among its
// kind. A place consists of bytes that sort like the parts from which it is made: texts by their UTF-8 bytes, numbers
// by their value, UUIDs by their bytes.
import { hash } from "node:crypto"
import type { FinishedLife, TimerKey } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"

export const kinds = {
  /** The first row of the partition. It is never deleted; see schema.ts. */
  anchor: 0,
  /** What is known of a key: its pending timer and its last life. */
  key: 1,
  /** A finished life, by key and revision. */
  life: 2,
  /** Pending timers by due time. */
  due: 3,
  /** Pending timers of a namespace by due time. */
  dueOf: 4,
  /** Finished lives of a namespace and a state by end. */
  end: 5,
  /** Finished lives that pruning may remove, by end. */
  old: 6,
  /** Timers and lives by word. */
  word: 7,
} as const

type Part = string | number | { readonly uuid: string }

/** Texts end with a zero byte. No text that is stored contains one; see whyUnstorable. */
export const placeOf = (...parts: ReadonlyArray<Part>): Buffer => {
  let bytes = 0
  for (const part of parts)
    bytes += typeof part === "number" ? 8 : typeof part === "string" ? Buffer.byteLength(part) + 1 : 16
  const place = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const part of parts) {
    if (typeof part === "number") at = place.writeBigInt64BE(BigInt(part) ^ signBit, at)
    else if (typeof part === "string") {
      at += place.write(part, at, "utf8")
      place[at++] = 0
    } else at += place.write(part.uuid.replaceAll("-", ""), at, "hex")
  }
  return place
}

/** Turns the order of the bytes of a signed number into the order of its values. */
const signBit = -(2n ** 63n)

/** The first place after all places that begin with these bytes. */
export const endOfPlaces = (prefix: Buffer): Buffer => Buffer.concat([prefix, afterAll])

/** No part of a place begins with this many of these bytes: they are no UTF-8, and no time, and no UUID is all of them. */
const afterAll = Buffer.alloc(24, 0xff)

const readText = (place: Buffer, at: number): readonly [text: string, next: number] => {
  const end = place.indexOf(0, at)
  return [place.toString("utf8", at, end), end + 1]
}

const readNumber = (place: Buffer, at: number): number => Number(place.readBigInt64BE(at) ^ signBit)

const readUuid = (place: Buffer, at: number): string =>
  place.toString("hex", at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")

export const keyPlace = ({ namespace, timerId }: Pick<TimerKey, "namespace" | "timerId">): Buffer =>
  placeOf(namespace, timerId)

/** The key of a place of a key or a life. */
export const keyAt = (place: Buffer): TimerKey => {
  const [namespace, next] = readText(place, 0)
  return keyOf(namespace, readText(place, next)[0])
}

interface LifeName extends Pick<TimerKey, "namespace" | "timerId"> {
  readonly revision: number
  readonly fireId: string
}

export const lifePlace = ({ namespace, timerId, revision, fireId }: LifeName): Buffer =>
  placeOf(namespace, timerId, revision, { uuid: fireId })

/** The revision in the place of a life. */
export const revisionAt = (place: Buffer): number => readNumber(place, place.length - 24)

export const fireIdAt = (place: Buffer): string => readUuid(place, place.length - 16)

export const duePlace = (
  { fireAt, fireId }: { readonly fireAt: number; readonly fireId: string },
  uuid: string,
): Buffer => placeOf(fireAt, { uuid: fireId }, { uuid })

export const duePlaceOf = (
  namespace: string,
  timer: { readonly fireAt: number; readonly fireId: string },
  uuid: string,
): Buffer => placeOf(namespace, timer.fireAt, { uuid: timer.fireId }, { uuid })

/** The due time and the fireId at the end of a place, before the uuid of the key. */
export const dueOfPlace = (place: Buffer): { readonly fireAt: number; readonly fireId: string } => ({
  fireAt: readNumber(place, place.length - 40),
  fireId: readUuid(place, place.length - 32),
})

/**
 * Distinguishes lives that ended at the same instant. It is made from the life itself, because no counter spans shards.
 * So their order is always the same, also after an import, but it is not the order in which they were stored.
 */
export const entryOfLife = ({ fireId, uuid }: Pick<FinishedLife, "fireId" | "uuid">): number =>
  Number.parseInt(hash("sha256", `${fireId} ${uuid}`, "hex").slice(0, entryDigits), 16)

/** Hex digits that a JavaScript number can hold. */
const entryDigits = 13

export const endPlace = (life: FinishedLife): Buffer =>
  placeOf(life.namespace, life.state, life.finishedAt, entryOfLife(life))

export const oldPlace = (life: FinishedLife): Buffer => placeOf(life.finishedAt, entryOfLife(life))

/** The entry number at the end of the place of an end. */
export const entryAt = (place: Buffer): number => readNumber(place, place.length - 8)
