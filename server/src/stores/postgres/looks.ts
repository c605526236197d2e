// Reads the rows of many keys in one statement, so that they show one instant.
import type { Known } from "../../domain/Decision.ts"
import type { FinishedLife, Timer } from "../../domain/Timer.ts"
import type { Look } from "../../ports/ShardStorage.ts"
import { type LifeColumns, lifeOfColumns, type TimerColumns, timerOfColumns } from "../columnRows.ts"
import { lifeColumns, timerColumns } from "./rows.ts"

interface FoundRow {
  readonly place: number
  readonly what: "pending" | "last" | "life"
  readonly row: TimerColumns & LifeColumns
  readonly payload: Uint8Array | null
}

const asJson = (columns: string, from: string): string =>
  `(SELECT row_to_json(r) FROM (SELECT ${columns} FROM (SELECT ${from}.*) AS c) AS r)`

const asked = `unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS a (namespace, timer_id, with_payload, place)`

/** Selects the rows that exist: pending timers, last lives, and the named lives. */
export const lookSql = `SELECT a.place::integer AS place, 'pending' AS what, ${asJson(timerColumns, "t")} AS row,
    CASE WHEN a.with_payload THEN t.payload END AS payload
  FROM ${asked} JOIN timers AS t ON t.namespace = a.namespace AND t.timer_id = a.timer_id
  UNION ALL
  SELECT a.place::integer, 'last', ${asJson(lifeColumns, "l")}, CASE WHEN a.with_payload THEN l.payload END
  FROM ${asked} CROSS JOIN LATERAL (
    SELECT * FROM history AS h WHERE h.namespace = a.namespace AND h.timer_id = a.timer_id
    ORDER BY h.revision DESC LIMIT 1
  ) AS l
  UNION ALL
  SELECT n.place, 'life', ${asJson(lifeColumns, "l")}, CASE WHEN n.with_payload THEN l.payload END
  FROM unnest($4::integer[], $5::text[], $6::text[], $7::boolean[], $8::uuid[], $9::bigint[])
    AS n (place, namespace, timer_id, with_payload, fire_id, min_revision)
  CROSS JOIN LATERAL (
    SELECT * FROM history AS h WHERE h.namespace = n.namespace AND h.timer_id = n.timer_id
      AND h.revision >= n.min_revision AND h.fire_id = n.fire_id
    ORDER BY h.revision LIMIT 1
  ) AS l`

export const lookAt = async (sql: Bun.SQL, looks: ReadonlyArray<Look>): Promise<ReadonlyArray<Known>> => {
  // Places count from 1, as in the statement.
  const named = looks.flatMap(({ key, lives = [], withPayload }, index) =>
    lives.map((life) => ({ place: index + 1, key, withPayload, ...life })),
  )
  const rows: ReadonlyArray<FoundRow> = await sql.unsafe(lookSql, [
    looks.map(({ key }) => key.namespace),
    looks.map(({ key }) => key.timerId),
    looks.map(({ withPayload }) => withPayload),
    named.map(({ place }) => place),
    named.map(({ key }) => key.namespace),
    named.map(({ key }) => key.timerId),
    named.map(({ withPayload }) => withPayload),
    named.map(({ fireId }) => fireId),
    named.map(({ minRevision }) => minRevision),
  ])
  const found = looks.map(() => ({
    pending: undefined as Timer | undefined,
    last: undefined as FinishedLife | undefined,
    lives: [] as Array<FinishedLife>,
  }))
  for (const { place, what, row, payload } of rows) {
    const [look, known] = [looks[place - 1], found[place - 1]]
    if (look === undefined || known === undefined) continue
    if (what === "pending") known.pending = timerOfColumns(look.key, row, payload)
    else if (what === "last") known.last = lifeOfColumns(look.key, row, payload)
    else known.lives.push(lifeOfColumns(look.key, row, payload))
  }
  return found
}
