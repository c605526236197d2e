// Removes history. With a retention, rows of history expire in the database without any work here. What this module
// removes are lives that do not expire in time: from an import, from before a shorter retention, or written by a command
// that knew no retention. It reads the order of ends, and removes lives with conditional batches like any commit.
import { shardOf } from "../../domain/TimerKey.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import {
  endsOf,
  readCondition,
  remove,
  removeLifeBody,
  update,
  wordPlacesOfLife,
} from "./changeStatements.ts"
import { type LifeRow, lifeRowOf, mostNamed, slices } from "./Keys.ts"
import { keyAt, keyPlace, kinds, placeOf } from "./places.ts"
import type { StoreParts } from "./Reader.ts"
import { lifeOf, stampIn, textIn } from "./rows.ts"
import type { Statement, Value } from "./Session.ts"
import { allShards, type IndexRow, refsOf, ShardWalk } from "./scans.ts"

/** Rows that expire are left alone for this long after their retention: they expire by the database's clock. */
const graceMs = 600_000

export class Pruning {
  readonly #parts: StoreParts
  readonly #graceMs: number
  /** Zero if rows do not expire. */
  readonly #lifeSeconds: number
  /** All older lives are gone, as far as this process knows. Before it are only deleted rows. */
  #sweptMs = Number.MIN_SAFE_INTEGER

  constructor(parts: StoreParts, lifeSeconds: number | undefined) {
    this.#parts = parts
    this.#lifeSeconds = lifeSeconds ?? 0
    this.#graceMs = lifeSeconds === undefined ? 0 : graceMs
  }

  /** A commit has added lives. */
  committed(changes: ReadonlyArray<KeyChange>): void {
    for (const { finished } of changes) {
      if (finished !== undefined) this.#sweptMs = Math.min(this.#sweptMs, finished.finishedAt)
    }
  }

  async prune(exclusiveBeforeMs: number, limit: number): Promise<number> {
    const { session, keys } = this.#parts
    const before = exclusiveBeforeMs - this.#graceMs
    const sweptBefore = this.#sweptMs
    if (sweptBefore >= before) return 0
    this.#sweptMs = before
    const walk = new ShardWalk(session, allShards(keys.shards), {
      kind: kinds.old,
      inclusiveFrom: placeOf(sweptBefore),
      exclusiveUntil: placeOf(before),
      isDescending: false,
    })
    try {
      const rows = await walk.take(limit)
      const removed = await this.#remove(rows)
      if (rows.length === limit || removed < rows.length) this.#sweptMs = Math.min(this.#sweptMs, sweptBefore)
      return removed
    } catch (error) {
      this.#sweptMs = Math.min(this.#sweptMs, sweptBefore)
      throw error
    }
  }

  async #remove(rows: ReadonlyArray<IndexRow>): Promise<number> {
    const lives = await refsOf(this.#parts.keys, kinds.life, rows)
    const found = lives.filter((row) => row !== undefined).map(lifeRowOf)
    const byKey = Map.groupBy(found, ({ place }) => keyAt(place).uuid)
    const byShard = Map.groupBy(byKey, ([uuid]) => shardOf(uuid, this.#parts.keys.shards))
    const counts = await Promise.all(
      [...byShard].map(async ([shard, ofShard]) => {
        let removed = 0
        for (const some of slices(ofShard, mostNamed))
          removed += await this.#removeFrom(
            shard,
            some.map(([, ofKey]) => ofKey),
          )
        return removed
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** The lives of each key, all of one shard. If a key changes meanwhile, nothing is removed, and the next call tries again. */
  async #removeFrom(shard: number, keysOfLives: ReadonlyArray<ReadonlyArray<LifeRow>>): Promise<number> {
    const { session, keys } = this.#parts
    const at = { store: session.store, shard }
    const statements: Array<Statement> = []
    const bodies: Array<Statement> = []
    for (const lives of keysOfLives) {
      const [first] = lives
      if (first === undefined) continue
      const key = keyAt(first.place)
      const read = await keys.everything(key)
      const gone = new Set(lives.map(({ place }) => place.toString("hex")))
      const left = read.lives.filter(({ place }) => !gone.has(place.toString("hex")))
      const last = left.at(-1)
      const stamp = stampIn(read.row, "stamp") ?? 0n
      const hasDead = left.some(({ state }) => state === "dead")
      const isKept = hasDead || textIn(read.row ?? {}, "state") !== undefined
      const set: Record<string, Value> = {
        last_fire_id: last?.fireId ?? null,
        last_revision: last === undefined ? null : BigInt(last.revision),
        has_dead: hasDead ? true : null,
        stamp: last === undefined ? null : stamp + 1n,
      }
      statements.push(update(at, keyPlace(key), set, readCondition(read), isKept ? 0 : this.#lifeSeconds))
      for (const life of lives) {
        const whole = lifeOf(key, life.row, {})
        statements.push(remove(at, kinds.life, life.place))
        for (const [kind, place] of endsOf(whole)) statements.push(remove(at, kind, place))
        for (const place of wordPlacesOfLife(whole)) statements.push(remove(at, kinds.word, place))
      }
      bodies.push(...lives.map((life) => removeLifeBody(session.store, key, life)))
    }
    if (statements.length === 0) return 0
    if ((await session.batch(statements, { isConditional: true })) !== undefined) return 0
    await Promise.all(bodies.map(({ query, params }) => session.rows(query, params)))
    return keysOfLives.reduce((sum, lives) => sum + lives.length, 0)
  }
}
