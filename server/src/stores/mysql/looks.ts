// Reads the rows of many keys in one transaction, so that they show one instant.
import type { Known } from "../../domain/Decision.ts"
import type { FinishedLife, TimerKey } from "../../domain/Timer.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import { lifeOfColumns, timerOfColumns } from "../columnRows.ts"
import type { Session } from "./MysqlSessions.ts"
import {
  type EndedRow,
  idLiteral,
  lifeColumns,
  ofKeys,
  orOfAll,
  type PendingRow,
  timerColumns,
  withBodies,
  withFireId,
} from "./rows.ts"

interface NamedRow {
  readonly key: TimerKey
  readonly fireId: string
  readonly minRevision: number
}

/** The lives with these fireIds. A cancel raises the revision of a life, so only later revisions are read. */
export const namedLives = (lives: ReadonlyArray<NamedRow>): string =>
  orOfAll(
    lives.map(
      ({ key, fireId, minRevision }) =>
        `(${ofKeys("h", [key])} AND h.revision >= ${minRevision} AND h.fire_id = ${idLiteral(fireId)})`,
    ),
  )

/** The life with the highest revision of each key, as rows of `h`. */
export const lastLives = (keys: ReadonlyArray<TimerKey>): string =>
  `(SELECT h.namespace, h.timer_id, MAX(h.revision) AS revision FROM history AS h FORCE INDEX (history_by_id)
    WHERE ${ofKeys("h", keys)} GROUP BY h.namespace, h.timer_id) AS m STRAIGHT_JOIN history AS h
    FORCE INDEX (history_by_id) ON h.namespace = m.namespace AND h.timer_id = m.timer_id AND h.revision = m.revision`

export const lookStatements = (looks: ReadonlyArray<Look>): ReadonlyArray<string> => {
  const keys = looks.map(({ key }) => key)
  const heavy = looks.filter(({ withPayload }) => withPayload).map(({ key }) => idLiteral(key.uuid))
  const payload = (from: string, uuid: string) =>
    heavy.length === looks.length
      ? `${from}.payload`
      : heavy.length === 0
        ? "NULL AS payload"
        : `IF(${uuid} IN (${heavy.join(", ")}), ${from}.payload, NULL) AS payload`
  const named = looks.flatMap(({ key, lives = [] }) => lives.map((life) => ({ key, ...life })))
  return [
    `SELECT ${timerColumns}, ${payload("b", "t.uuid")} FROM timers AS t FORCE INDEX (timers_by_id) ${withBodies}
      WHERE ${ofKeys("t", keys)}`,
    `SELECT ${lifeColumns}, ${payload("h", "h.uuid")} FROM ${lastLives(keys)}`,
    ...(named.length === 0
      ? []
      : [
          `SELECT ${lifeColumns}, ${payload("h", "h.uuid")} FROM history AS h FORCE INDEX (history_by_id)
            WHERE ${namedLives(named)}`,
        ]),
  ]
}

export const lookAt = async (session: Session, looks: ReadonlyArray<Look>): Promise<ReadonlyArray<Known>> => {
  const results = await session.snapshot<PendingRow & EndedRow>(lookStatements(looks))
  const [pending = [], last = [], lives = []] = results.map((rows) => rows.map(withFireId))
  const pendingRows = new Map(pending.map((row) => [row.uuid, row]))
  const lastRows = new Map(last.map((row) => [row.uuid, row]))
  return looks.map(({ key, lives: named = [], withPayload }): Known => {
    // The same key may be asked for twice.
    const payloadOf = (row: PendingRow & EndedRow) => (withPayload ? row.payload : null)
    const [timer, life] = [pendingRows.get(key.uuid), lastRows.get(key.uuid)]
    const found = named.flatMap(({ fireId, minRevision }): ReadonlyArray<FinishedLife> => {
      const row = lives.find(
        (one) => one.uuid === key.uuid && one.fire_id === fireId && one.revision >= minRevision,
      )
      return row === undefined ? [] : [lifeOfColumns(key, row, payloadOf(row))]
    })
    return {
      pending: timer && timerOfColumns(key, timer, payloadOf(timer)),
      last: life && lifeOfColumns(key, life, payloadOf(life)),
      lives: found,
    }
  })
}
