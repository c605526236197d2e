// The columns of timers and lives, from the tables of fields: what statements select, and what they insert. Times and
// counters are selected as doubles, which hold every millisecond that a JavaScript number can; a bigint would arrive as
// text. Keys are bytes in the database and texts here.
import { literal, type SqlValue } from "@punctual/documents/mysql/mysqlText"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import type { KeyColumns, LifeColumns, TimerColumns } from "../columnRows.ts"
import { textOfSpec } from "../SpecText.ts"

/** A selected row with its payload. Its fireId has no dashes yet. */
export type PendingRow = KeyColumns & TimerColumns & { readonly payload: Uint8Array | null }
export type EndedRow = KeyColumns & LifeColumns & { readonly payload: Uint8Array | null; readonly id: number }

export const uuidColumn = (alias: string): string => `LOWER(HEX(${alias}.uuid)) AS uuid`
export const textColumn = (alias: string, column: string): string =>
  `CONVERT(${alias}.${column} USING utf8mb4) AS ${column}`
export const numberColumn = (alias: string, column: string): string => `${alias}.${column} + 0e0 AS ${column}`
export const fireIdColumn = (alias: string): string => `LOWER(HEX(${alias}.fire_id)) AS fire_id`

export const keyColumns = (alias: string): string =>
  `${uuidColumn(alias)}, ${textColumn(alias, "namespace")}, ${textColumn(alias, "timer_id")}`

const selected = (fields: ReadonlyArray<TimerField>, alias: string): string =>
  fields
    .map(({ column, kind }) => {
      if (kind === "fireId") return fireIdColumn(alias)
      const isNumber = kind === "instant" || kind === "revision" || kind === "number"
      return isNumber ? numberColumn(alias, column) : `${alias}.${column}`
    })
    .join(", ")

/** The columns of a PendingRow without its payload, from timers AS t and bodies AS b. A missing body is unreadable. */
export const timerColumns = `${keyColumns("t")}, ${selected(pendingFields, "t")}, COALESCE(b.spec, '') AS spec`

/** The columns of an EndedRow without its payload, from history AS h. */
export const lifeColumns = `${keyColumns("h")}, ${selected(finishedFields, "h")}, h.spec, ${numberColumn("h", "id")}`

export const withBodies = "LEFT JOIN bodies AS b ON b.shard = t.shard AND b.uuid = t.uuid"

/** A fireId as it is in the domain. */
export const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

export const withFireId = <Row extends { readonly fire_id: string }>(row: Row): Row => ({
  ...row,
  fire_id: dashed(row.fire_id),
})

/** A uuid or a fireId as bytes. */
export const idLiteral = (id: string): string =>
  `x'${Buffer.from(id.replaceAll("-", ""), "hex").toString("hex")}'`

const names = (fields: ReadonlyArray<TimerField>): string => fields.map(({ column }) => column).join(", ")

export const timerNames = `shard, uuid, namespace, timer_id, ${names(pendingFields)}`
export const lifeNames = `shard, uuid, namespace, timer_id, ${names(finishedFields)}, spec, payload`

export const timerValues = (shard: number, timer: Timer): string =>
  `(${keyValues(shard, timer)}, ${fieldValues(pendingFields, timer).join(", ")})`

export const lifeValues = (shard: number, life: FinishedLife): string =>
  `(${keyValues(shard, life)}, ${[...fieldValues(finishedFields, life), literal(textOfSpec(life.spec)), literal(life.payload)].join(", ")})`

/** The columns of a life that a correction sets. */
export const lifeSettings = (life: FinishedLife): string => {
  const values = fieldValues(finishedFields, life)
  const settings = finishedFields.map(({ column }, index) => `${column} = ${values[index]}`)
  return [...settings, `spec = ${literal(textOfSpec(life.spec))}`, `payload = ${literal(life.payload)}`].join(
    ", ",
  )
}

const keyValues = (shard: number, { uuid, namespace, timerId }: TimerKey): string =>
  `${shard}, ${idLiteral(uuid)}, ${literal(namespace)}, ${literal(timerId)}`

const fieldValues = (fields: ReadonlyArray<TimerField>, row: Timer | FinishedLife): ReadonlyArray<string> =>
  fields.map(({ name, kind }) => {
    // The types of the table guarantee that the row has this field.
    const value = (row as unknown as TermsByName)[name]
    if (kind === "fireId") return idLiteral(value as string)
    // Logs and lists are JSON in their columns. Everything else is a primitive.
    return literal(Array.isArray(value) ? JSON.stringify(value) : (value as SqlValue))
  })

const grouped = <Key, Of>(
  items: ReadonlyArray<Of>,
  keyOf: (item: Of) => Key,
): ReadonlyMap<Key, Array<Of>> => {
  const groups = new Map<Key, Array<Of>>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

/** The rows of these keys in an index by (shard, uuid). */
export const ofShards = (
  alias: string,
  keys: ReadonlyArray<{ readonly shard: number; readonly uuid: string }>,
) =>
  orOfAll(
    [...grouped(keys, ({ shard }) => shard)].map(
      ([shard, group]) =>
        `(${alias}.shard = ${shard} AND ${alias}.uuid IN (${group.map(({ uuid }) => idLiteral(uuid)).join(", ")}))`,
    ),
  )

/** The rows of these keys in an index by (namespace, timer_id). */
export const ofKeys = (alias: string, keys: ReadonlyArray<TimerKey>): string =>
  orOfAll(
    [...grouped(keys, ({ namespace }) => namespace)].map(
      ([namespace, group]) =>
        `(${alias}.namespace = ${literal(namespace)} AND ${alias}.timer_id IN (${group.map(({ timerId }) => literal(timerId)).join(", ")}))`,
    ),
  )

/** Parentheses keep the conditions together. No condition means no rows. */
export const orOfAll = (conditions: ReadonlyArray<string>): string =>
  conditions.length === 0 ? "FALSE" : `(${conditions.join(" OR ")})`
