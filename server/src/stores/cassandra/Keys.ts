// Reads keys: the row of a key, its lives, and the bodies that they name. A key's row and its life rows are in the
// partition of its shard, so one statement sees them as of one instant. Bodies never change, but a later commit may
// remove them. If one is missing, the row is read again.
import type { FinishedLife, FinishedState, Timer, TimerKey } from "../../domain/Timer.ts"
import { shardOf } from "../../domain/TimerKey.ts"
import { endOfPlaces, fireIdAt, keyPlace, kinds, lifePlace, placeOf, revisionAt } from "./places.ts"
import {
  bodyAt,
  bytesIn,
  lifeOf,
  numberIn,
  parts,
  type StoredBody,
  stateOfLife,
  textIn,
  timerOf,
  uuidBytes,
} from "./rows.ts"
import type { BatchSession, Row } from "./Session.ts"

/** How many rows or keys one statement names. */
export const mostNamed = 100

/** More lives of one key are not read for one change. */
const mostLives = 50_000

/** The row of a life, and the parts of it that changes need. */
export interface LifeRow {
  readonly place: Buffer
  readonly fireId: string
  readonly revision: number
  readonly state: FinishedState | undefined
  readonly row: Row
}

/** Everything that the shard's partition has about a key. */
export interface KeyRows {
  /** The row of the key. `undefined` if there is none. */
  readonly row: Row | undefined
  /** By revision. */
  readonly lives: ReadonlyArray<LifeRow>
}

export interface PendingRead {
  readonly key: TimerKey
  readonly row: Row
}

export interface NamedLifeRow {
  readonly key: TimerKey
  readonly life: LifeRow
}

export class Keys {
  readonly #session: BatchSession
  readonly shards: number

  constructor(session: BatchSession, shards: number) {
    this.#session = session
    this.shards = shards
  }

  shardOf(key: TimerKey): number {
    return shardOf(key.uuid, this.shards)
  }

  /** Rows of one kind in one shard, by the hex digits of their places. */
  async at(shard: number, kind: number, places: ReadonlyArray<Buffer>): Promise<ReadonlyMap<string, Row>> {
    const query = `SELECT * FROM shards WHERE store = ? AND shard = ? AND kind = ${kind} AND place IN ?`
    const pages = await Promise.all(
      slices(places, mostNamed).map((slice) =>
        this.#session.rows(query, [this.#session.store, shard, slice]),
      ),
    )
    return new Map(pages.flat().map((row) => [bytesIn(row, "place").toString("hex"), row]))
  }

  /** The rows of keys, in order. Keys of several shards are read side by side. */
  async rowsOf(keys: ReadonlyArray<TimerKey>): Promise<ReadonlyArray<Row | undefined>> {
    const asked = keys.map((key) => ({ shard: this.shardOf(key), ref: keyPlace(key) }))
    return this.namedRows(kinds.key, asked)
  }

  /** Rows of one kind by their places, in order. */
  async namedRows(
    kind: number,
    asked: ReadonlyArray<{ readonly shard: number; readonly ref: Buffer }>,
  ): Promise<ReadonlyArray<Row | undefined>> {
    const byShard = Map.groupBy(asked, ({ shard }) => shard)
    const found = new Map(
      await Promise.all(
        [...byShard].map(async ([shard, of]) => {
          const places = of.map(({ ref }) => ref)
          return [shard, await this.at(shard, kind, places)] as const
        }),
      ),
    )
    return asked.map(({ shard, ref }) => found.get(shard)?.get(ref.toString("hex")))
  }

  /** All that a slow change needs. */
  async everything(key: TimerKey): Promise<KeyRows> {
    const [[row], lives] = await Promise.all([this.rowsOf([key]), this.livesFrom(key)])
    return { row, lives }
  }

  async livesFrom(
    key: TimerKey,
    {
      minRevision,
      isLastOnly = false,
    }: { readonly minRevision?: number; readonly isLastOnly?: boolean } = {},
  ): Promise<ReadonlyArray<LifeRow>> {
    const prefix = keyPlace(key)
    const from = minRevision === undefined ? prefix : placeOf(key.namespace, key.timerId, minRevision)
    const rows = await this.#session.rows(
      `SELECT place, life FROM shards WHERE store = ? AND shard = ? AND kind = ${kinds.life} AND place >= ? AND place < ?
        ORDER BY kind ${isLastOnly ? "DESC, place DESC" : "ASC, place ASC"} LIMIT ${isLastOnly ? 1 : mostLives}`,
      [this.#session.store, this.shardOf(key), from, endOfPlaces(prefix)],
    )
    return rows.map(lifeRowOf)
  }

  /** The last life of a key. Its row names it. If that life has expired, an older dead letter may be the last one. */
  async lastOf(key: TimerKey, row: Row | undefined): Promise<LifeRow | undefined> {
    if (row === undefined) return undefined
    const fireId = textIn(row, "last_fire_id")
    if (fireId !== undefined) {
      const place = lifePlace({ ...key, revision: numberIn(row, "last_revision"), fireId })
      const found = (await this.at(this.shardOf(key), kinds.life, [place])).values().next().value
      if (found !== undefined) return lifeRowOf(found)
    }
    if (fireId === undefined && row["has_dead"] !== true) return undefined
    return (await this.livesFrom(key, { isLastOnly: true }))[0]
  }

  /** The timers of rows of keys that have a pending timer, in order. A row that has changed meanwhile gives its new timer. */
  async timersOf(
    reads: ReadonlyArray<PendingRead>,
    withPayload: boolean,
  ): Promise<ReadonlyArray<Timer | undefined>> {
    const timers: Array<Timer | undefined> = new Array(reads.length)
    let open = reads.map((read, index) => ({ ...read, index }))
    for (let tries = 0; open.length > 0; tries++) {
      const bodies = await this.#bodies(
        open.map(({ key }) => key),
        withPayload ? parts.life : parts.payload,
      )
      const again: typeof open = []
      for (const read of open) {
        const { key, row, index } = read
        const body = pendingBody(row, bodies.get(key.uuid) ?? [])
        const isWhole =
          body.spec !== undefined &&
          (!withPayload || (row["payload_at"] ?? null) === null || body.payload !== undefined)
        if (isWhole || tries === mostTries) timers[index] = timerOf(key, row, body)
        else again.push(read)
      }
      const rows = await this.rowsOf(again.map(({ key }) => key))
      open = again.flatMap(({ key, index }, place) => {
        const row = rows[place]
        return row === undefined || textIn(row, "state") === undefined ? [] : [{ key, row, index }]
      })
    }
    return timers
  }

  /** In order. */
  async livesOf(
    lives: ReadonlyArray<NamedLifeRow>,
    withPayload: boolean,
  ): Promise<ReadonlyArray<FinishedLife>> {
    const columns = withPayload ? "spec, log, payload" : "spec, log"
    return Promise.all(
      lives.map(async ({ key, life }) => {
        const [row] = await this.#session.rows(
          `SELECT ${columns} FROM bodies WHERE store = ? AND uuid = ? AND part = ${parts.life} AND stamp = ?`,
          [this.#session.store, uuidBytes(key.uuid), bodyAt(textIn(life.row, "life"))],
        )
        return lifeOf(key, life.row, row === undefined ? {} : bodyOf(row))
      }),
    )
  }

  /** The rows of pending bodies, by uuid. */
  async #bodies(
    keys: ReadonlyArray<TimerKey>,
    exclusiveUntilPart: number,
  ): Promise<ReadonlyMap<string, ReadonlyArray<Row>>> {
    const query = "SELECT * FROM bodies WHERE store = ? AND uuid IN ? AND part < ?"
    const uuids = keys.map(({ uuid }) => uuidBytes(uuid))
    const pages = await Promise.all(
      slices(uuids, mostNamed).map((slice) =>
        this.#session.rows(query, [this.#session.store, slice, exclusiveUntilPart]),
      ),
    )
    return Map.groupBy(pages.flat(), (row) => bytesIn(row, "uuid").toString("hex"))
  }
}

/** How often a row is read again because its body is missing. */
const mostTries = 2

export const lifeRowOf = (row: Row): LifeRow => {
  const place = bytesIn(row, "place")
  return {
    place,
    fireId: fireIdAt(place),
    revision: revisionAt(place),
    state: stateOfLife(row),
    row,
  }
}

const bodyOf = (row: Row): StoredBody => ({
  spec: textIn(row, "spec"),
  log: textIn(row, "log"),
  ...(row["payload"] instanceof Uint8Array ? { payload: row["payload"] } : {}),
})

/** A key's partition may also have rows of changes that were never committed. */
const pendingBody = (row: Row, found: ReadonlyArray<Row>): StoredBody => {
  const partAt = (part: number, stamp: unknown) =>
    found.find((one) => one["part"] === part && one["stamp"] === stamp) ?? {}
  const texts = partAt(parts.timer, bodyAt(textIn(row, "timer")))
  const { payload } = bodyOf(partAt(parts.payload, row["payload_at"] ?? null))
  return { ...bodyOf(texts), payload }
}

export const slices = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> => {
  const found: Array<ReadonlyArray<A>> = []
  for (let from = 0; from < all.length; from += size) found.push(all.slice(from, from + size))
  return found
}
