// Converts a change of a key to statements: the rows of the shard's partition that the conditional batch changes, the
// bodies that are written before it, and the bodies that can be removed after it.
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import { type WordRow, wordRowsOfLife } from "../../domain/words.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { textOfLog } from "../AttemptLogText.ts"
import { textOfSpec } from "../SpecText.ts"
import type { KeyRows, LifeRow } from "./Keys.ts"
import { duePlace, duePlaceOf, endPlace, keyPlace, kinds, lifePlace, oldPlace, placeOf } from "./places.ts"
import { bodyAt, lifeOf, packLife, packTimer, parts, stampIn, stateText, textIn, uuidBytes } from "./rows.ts"
import type { Statement, Value } from "./Session.ts"

/** Where and when a commit writes. */
export interface CommitPlace {
  readonly store: string
  readonly shard: number
  /** Identifies the commit within the shard. It grows with every commit. */
  readonly stamp: bigint
  /** How long finished lives are kept. `undefined` if the database does not remove them. */
  readonly lifeSeconds: number | undefined
}

/** Epochs and numbers as one number that grows. Pruning uses the numbers between two of them. */
export const stampOf = (epoch: number, number: number): bigint =>
  (BigInt(epoch) << 40n) + (BigInt(number) << 4n)

type Columns = { [column: string]: Value }

/** What the key's row must have. An absent column is not compared. */
export type KeyCondition = Readonly<Record<string, Value>>

/** A change that does not need to know more of its key than its own expectation says. */
export const isQuick = ({ expects, finished }: KeyChange): boolean => {
  if (expects.life !== undefined) return false
  if (finished === undefined) return true
  if (expects.pending) return finished.fireId === expects.pending.fireId
  return expects.last === null
}

/** What a quick change expects. */
export const quickCondition = ({ expects: { pending, last } }: KeyChange): KeyCondition => {
  if (pending) return { state: stateText(pending) }
  if (last === undefined) return { state: null }
  return last === null ? { state: null, stamp: null, has_dead: null } : { state: null, last_fire_id: last }
}

/** What a change expects whose key was read. Every change of the key's lives changes the stamp. */
export const readCondition = ({ row }: KeyRows): KeyCondition => ({
  state: textIn(row ?? {}, "state") ?? null,
  stamp: stampIn(row, "stamp"),
})

/** Whether the expectation is true for what was read. */
export const holds = ({ expects }: KeyChange, { row, lives }: KeyRows): boolean => {
  const state = textIn(row ?? {}, "state")
  if (expects.pending === null && state !== undefined) return false
  if (expects.pending && state !== stateText(expects.pending)) return false
  if (expects.last !== undefined && (lives.at(-1)?.fireId ?? null) !== expects.last) return false
  return expects.life === undefined || (lifeNamed(expects.life, lives)?.state ?? null) === expects.life.state
}

const lifeNamed = (
  { fireId, minRevision }: { readonly fireId: string; readonly minRevision: number },
  lives: ReadonlyArray<LifeRow>,
): LifeRow | undefined => lives.find((life) => life.fireId === fireId && life.revision >= minRevision)

/** The statements of a change within the conditional batch. `read` is what is known of the key, if it was read. */
export const batchStatements = (
  at: CommitPlace,
  change: KeyChange,
  condition: KeyCondition,
  read: KeyRows | undefined,
): ReadonlyArray<Statement> => {
  const { key, expects, pending, finished, words } = change
  const gone = goneLife(change, read)
  const removed: Array<readonly [kind: number, place: Buffer]> = []
  const added: Array<readonly [kind: number, place: Buffer, ref: Buffer, ttl: number]> = []
  const ownPlace = keyPlace(key)
  if (pending !== undefined && expects.pending) {
    removed.push([kinds.due, duePlace(expects.pending, key.uuid)])
    removed.push([kinds.dueOf, duePlaceOf(key.namespace, expects.pending, key.uuid)])
  }
  if (pending) {
    added.push([kinds.due, duePlace(pending, key.uuid), ownPlace, 0])
    added.push([kinds.dueOf, duePlaceOf(key.namespace, pending, key.uuid), ownPlace, 0])
  }
  if (gone !== undefined) {
    removed.push([kinds.life, gone.place], ...endsOf(lifeOf(key, gone.row, {})))
  }
  const statements: Array<Statement> = []
  if (finished !== undefined) {
    const place = lifePlace(finished)
    const ttl = secondsOf(at, finished)
    statements.push(insert(at, kinds.life, place, { life: packLife(finished, at.stamp) }, ttl))
    removed.splice(
      0,
      removed.length,
      ...removed.filter(([kind, other]) => kind !== kinds.life || !other.equals(place)),
    )
    for (const [kind, end] of endsOf(finished)) added.push([kind, end, place, ttl])
  }
  for (const row of words?.removed ?? []) removed.push([kinds.word, wordPlace(key, row)])
  for (const row of words?.added ?? []) {
    const ref = row.state === "pending" ? ownPlace : lifePlace({ ...key, ...row })
    added.push([
      kinds.word,
      wordPlace(key, row),
      ref,
      row.state === "pending" || row.state === "dead" ? 0 : (at.lifeSeconds ?? 0),
    ])
  }
  const keeps = new Set(added.map(([kind, place]) => `${kind} ${place.toString("hex")}`))
  statements.push(keyStatement(at, change, condition, read))
  // Both would have the same timestamp, and then the removal would win.
  for (const [kind, place] of removed) {
    if (!keeps.has(`${kind} ${place.toString("hex")}`)) statements.push(remove(at, kind, place))
  }
  for (const [kind, place, ref, ttl] of added) statements.push(insert(at, kind, place, { ref }, ttl))
  return statements
}

/** The places of a life in the orders by end. Dead letters are never pruned. */
export const endsOf = (life: FinishedLife): ReadonlyArray<readonly [kind: number, place: Buffer]> => [
  [kinds.end, endPlace(life)],
  ...(life.state === "dead" ? [] : [[kinds.old, oldPlace(life)] as const]),
]

export const wordPlace = ({ namespace, uuid }: TimerKey, { state, word, atMs, fireId }: WordRow): Buffer =>
  placeOf(namespace, state, word, atMs, { uuid: fireId }, { uuid })

export const wordPlacesOfLife = (life: FinishedLife): ReadonlyArray<Buffer> =>
  wordRowsOfLife(life).map((row) => wordPlace(life, row))

const secondsOf = ({ lifeSeconds = 0 }: CommitPlace, { state }: FinishedLife): number =>
  state === "dead" ? 0 : lifeSeconds

const keyStatement = (
  at: CommitPlace,
  change: KeyChange,
  condition: KeyCondition,
  read: KeyRows | undefined,
): Statement => {
  const { key, expects, pending, payload, finished } = change
  const set: Columns = {}
  if (pending) {
    set["state"] = stateText(pending)
    set["timer"] = packTimer(pending, at.stamp)
    const stamp = pending.payload === undefined ? null : at.stamp
    if (payload === "write" && (stamp !== null || expects.pending)) set["payload_at"] = stamp
  } else if (pending === null) Object.assign(set, { state: null, timer: null, payload_at: null })
  let isKept = Boolean(pending)
  if (read !== undefined) {
    const lives = livesAfter(change, read.lives)
    const last = lives.at(-1)
    const hasDead = lives.some(({ state }) => state === "dead")
    set["last_fire_id"] = last?.fireId ?? null
    set["last_revision"] = last === undefined ? null : BigInt(last.revision)
    set["has_dead"] = hasDead ? true : null
    set["stamp"] = last === undefined ? null : at.stamp
    isKept ||= hasDead || (pending === undefined && textIn(read.row ?? {}, "state") !== undefined)
  } else if (finished !== undefined) {
    set["last_fire_id"] = finished.fireId
    set["last_revision"] = BigInt(finished.revision)
    set["stamp"] = at.stamp
    if (finished.state === "dead") set["has_dead"] = true
    isKept ||= finished.state === "dead"
  }
  return update(at, keyPlace(key), set, condition, isKept ? 0 : (at.lifeSeconds ?? 0))
}

const livesAfter = (
  { expects, finished, removesLife }: Pick<KeyChange, "expects" | "finished" | "removesLife">,
  lives: ReadonlyArray<LifeRow>,
): ReadonlyArray<Pick<LifeRow, "fireId" | "revision" | "state">> => {
  const gone = expects.life === undefined ? undefined : lifeNamed(expects.life, lives)
  const others = removesLife || finished !== undefined ? lives.filter((life) => life !== gone) : lives
  if (finished === undefined) return others
  const { fireId, revision, state } = finished
  return [...others, { fireId, revision, state }].sort((a, b) => a.revision - b.revision)
}

const whereKey = "WHERE store = ? AND shard = ? AND kind = ? AND place = ?"

/** Without a lifetime the row stays until it is deleted. */
export const update = (
  { store, shard }: Pick<CommitPlace, "store" | "shard">,
  place: Buffer,
  set: Columns,
  condition: KeyCondition,
  ttl: number,
): Statement => {
  const columns = Object.keys(set)
  const conditions = Object.keys(condition)
  return {
    query: `UPDATE shards ${ttl === 0 ? "" : "USING TTL ? "}SET ${columns.map((name) => `${name} = ?`).join(", ")}
      ${whereKey} IF ${conditions.map((name) => `${name} = ?`).join(" AND ")}`,
    params: [
      ...(ttl === 0 ? [] : [ttl]),
      ...Object.values(set),
      store,
      shard,
      kinds.key,
      place,
      ...Object.values(condition),
    ],
  }
}

export const remove = (
  { store, shard }: Pick<CommitPlace, "store" | "shard">,
  kind: number,
  place: Buffer,
): Statement => ({
  query: `DELETE FROM shards ${whereKey}`,
  params: [store, shard, kind, place],
})

const insert = (
  { store, shard }: CommitPlace,
  kind: number,
  place: Buffer,
  columns: Columns,
  ttl: number,
): Statement => insertInto("shards", { store, shard, kind, place, ...columns }, ttl)

const insertInto = (table: string, columns: Columns, ttl: number): Statement => {
  const names = Object.keys(columns)
  return {
    query: `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})${ttl === 0 ? "" : " USING TTL ?"}`,
    params: [...Object.values(columns), ...(ttl === 0 ? [] : [ttl])],
  }
}

/** The bodies of a change, which are all in the partition of its key. They are written before the commit. */
export const bodyStatements = (
  at: CommitPlace,
  { key, pending, payload, finished }: KeyChange,
): ReadonlyArray<Statement> => {
  const statements: Array<Statement> = []
  const { store, stamp } = at
  const uuid = uuidBytes(key.uuid)
  const put = (part: number, columns: Columns, ttl = 0) =>
    statements.push(insertInto("bodies", { store, uuid, part, stamp, ...columns }, ttl))
  if (pending) {
    put(parts.timer, textsOf(pending))
    if (payload === "write" && pending.payload !== undefined)
      put(parts.payload, { payload: bufferOf(pending.payload) })
  }
  if (finished !== undefined) {
    const keeps = finished.state === "dead" && finished.payload !== undefined
    const columns = keeps ? { ...textsOf(finished), payload: bufferOf(finished.payload) } : textsOf(finished)
    put(parts.life, columns, secondsOf(at, finished))
  }
  return statements
}

const textsOf = ({ spec, attemptLog }: Timer | FinishedLife): Columns =>
  attemptLog === undefined
    ? { spec: textOfSpec(spec) }
    : { spec: textOfSpec(spec), log: textOfLog(attemptLog) }

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Removes bodies that nothing names after the commit: older ones of the pending timer, or that of a removed life. */
export const cleaningStatements = (
  { store, stamp }: CommitPlace,
  { key, expects, pending, payload }: KeyChange,
  gone: LifeRow | undefined,
): ReadonlyArray<Statement> => {
  const statements: Array<Statement> = []
  const uuid = uuidBytes(key.uuid)
  if (gone !== undefined) statements.push(removeLifeBody(store, key, gone))
  if (pending === undefined || !expects.pending) return statements
  const replaced = pending === null || payload === "write" ? [parts.timer, parts.payload] : [parts.timer]
  for (const part of replaced) {
    statements.push({
      query: "DELETE FROM bodies WHERE store = ? AND uuid = ? AND part = ? AND stamp < ?",
      params: [store, uuid, part, stamp],
    })
  }
  return statements
}

export const removeLifeBody = (store: string, { uuid }: TimerKey, { row }: LifeRow): Statement => ({
  query: "DELETE FROM bodies WHERE store = ? AND uuid = ? AND part = ? AND stamp = ?",
  params: [store, uuidBytes(uuid), parts.life, bodyAt(textIn(row, "life"))],
})

/** The life that a change corrects or removes. */
export const goneLife = (
  { expects, removesLife, finished }: KeyChange,
  read: KeyRows | undefined,
): LifeRow | undefined =>
  read === undefined || expects.life === undefined || !(removesLife || finished !== undefined)
    ? undefined
    : lifeNamed(expects.life, read.lives)
