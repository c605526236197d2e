// Reads what is stored under a key: the pending timer, the life that ended last, and lives named by their fireIds. The
// writer and the reader each use their own connection, inside a transaction, so that a look sees one instant.
import type { Database, Statement } from "bun:sqlite"
import type { Known } from "../../domain/Decision.ts"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import type { NamedLife } from "../../domain/WriteItem.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import { prepareAll } from "./prepareAll.ts"
import { type LifeRow, lifeOf, type TimerRow, timerOf } from "./rows.ts"
import { lookupSql } from "./statements.ts"

/** The row of the pending timer of a key. */
export interface PendingIds {
  idOf(key: TimerKey): number | undefined
}

export class Lookup {
  readonly #sql: { readonly [name in keyof typeof lookupSql]: Statement }

  readonly #pendingIds: PendingIds

  constructor(database: Database, pendingIds: PendingIds) {
    this.#sql = prepareAll(database, lookupSql)
    this.#pendingIds = pendingIds
  }

  pendingId(key: TimerKey): number | undefined {
    return this.#pendingIds.idOf(key)
  }

  look({ key, lives, withPayload }: Look): Known {
    const id = this.pendingId(key)
    const found = this.#sql.probe.get(key.namespace, key.timerId) as {
      ended: number | null
      dead: number | null
    }
    const known = {
      pending: id === undefined ? undefined : this.#pending(id, key, withPayload),
      last: this.#last(key, found.ended, found.dead, withPayload),
    }
    if (lives === undefined || lives.length === 0) return known
    return { ...known, lives: lives.flatMap((life) => this.lifeRow(key, life) ?? []).map(shown(withPayload)) }
  }

  /** The row of a life, from either of the two tables. */
  lifeRow({ namespace, timerId }: TimerKey, { fireId, minRevision }: NamedLife): LifeRow | undefined {
    const arming = [namespace, timerId, minRevision, fireId] as const
    const row = this.#sql.endedArming.get(...arming) ?? this.#sql.deadArming.get(...arming)
    return (row as LifeRow | null) ?? undefined
  }

  #pending(id: number, key: TimerKey, withPayload: boolean): Timer | undefined {
    const row = this.#sql.head.get(id) as TimerRow | null
    if (row === null) return undefined
    const body = (withPayload ? this.#sql.body : this.#sql.spec).get(row.id) as {
      spec: string
      payload?: Uint8Array | null
    } | null
    return timerOf(key, row, body?.spec ?? null, body?.payload)
  }

  #last(
    key: TimerKey,
    ended: number | null,
    dead: number | null,
    withPayload: boolean,
  ): FinishedLife | undefined {
    if (ended === null && dead === null) return undefined
    const revision = Math.max(ended ?? Number.NEGATIVE_INFINITY, dead ?? Number.NEGATIVE_INFINITY)
    const select = revision === dead ? this.#sql.deadLife : this.#sql.endedLife
    const row = select.get(key.namespace, key.timerId, revision) as LifeRow | null
    return row === null ? undefined : shown(withPayload)(row)
  }
}

const shown =
  (withPayload: boolean) =>
  (row: LifeRow): FinishedLife =>
    lifeOf(withPayload ? row : { ...row, payload: null })
