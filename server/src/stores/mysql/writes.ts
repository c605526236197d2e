// The statements that execute changes, as sets: one statement for each table and kind of change. A pending row that
// changes is deleted and inserted, because its place in the table is its due time.
import { literal } from "@punctual/documents/mysql/mysqlText"
import { type Tally, tallyNames, tallyOfAll } from "../../domain/Decision.ts"
import type { Timer } from "../../domain/Timer.ts"
import type { WordRow } from "../../domain/words.ts"
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { textOfSpec } from "../SpecText.ts"
import {
  idLiteral,
  lifeNames,
  lifeSettings,
  lifeValues,
  ofKeys,
  ofShards,
  orOfAll,
  timerNames,
  timerValues,
} from "./rows.ts"

/** A change to execute. */
export interface Done {
  readonly shard: number
  readonly change: KeyChange
  /** The number of the life that it corrects or removes. */
  readonly lifeId?: number
}

export interface Fence {
  readonly shard: number
  readonly epoch: number
  readonly number: number
  readonly tally: Tally
}

export const tallyOf = (done: ReadonlyArray<Done>): Tally => tallyOfAll(done.map(({ change }) => change))

/** Fails with an error that `isUnmet` recognises if the query has rows: a value cannot have two rows. */
const unless = (query: string): string => `SET @unmet = (SELECT 1 UNION ALL ${query})`

/**
 * Writes the rows of the shards, and fails if one has another epoch or a later number. Each row that it finds really
 * changes, because the number is higher. So the count of rows is exact.
 */
export const fenceStatement = (fences: ReadonlyArray<Fence>): ReadonlyArray<string> => {
  const byShard = (numberOf: (fence: Fence) => number): string =>
    `CASE shard ${fences.map((fence) => `WHEN ${fence.shard} THEN ${numberOf(fence)}`).join(" ")} END`
  const counted = tallyNames.filter((name) => fences.some(({ tally }) => tally[name] !== 0))
  const sums = counted.map((name) => `${name} = ${name} + ${byShard(({ tally }) => tally[name])}`)
  const held = fences.map(
    ({ shard, epoch, number }) => `(shard = ${shard} AND epoch = ${epoch} AND last_write < ${number})`,
  )
  return [
    `UPDATE shards FORCE INDEX (PRIMARY) SET ${[...sums, `last_write = ${byShard(({ number }) => number)}`].join(", ")}
      WHERE ${orOfAll(held)}`,
    unless(`SELECT 1 FROM DUAL WHERE ROW_COUNT() <> ${fences.length}`),
  ]
}

/** Fails if a timer is not in its expected state, or if a key that should be unused has a life. */
export const checkStatements = (done: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const unused = done.filter(({ change }) => change.expects.pending === null)
  const states = done.flatMap(({ shard, change: { key, expects } }) =>
    expects.pending
      ? [
          `(t.shard = ${shard} AND t.uuid = ${idLiteral(key.uuid)} AND t.fire_id = ${idLiteral(expects.pending.fireId)}
            AND t.attempts = ${expects.pending.attempts} AND t.revision = ${expects.pending.revision}
            AND t.asked_at <=> ${literal(expects.pending.askedAt)})`,
        ]
      : [],
  )
  return [
    ...(states.length === 0
      ? []
      : [
          unless(`SELECT 1 FROM DUAL WHERE ${states.length} <> (SELECT COUNT(*) FROM timers AS t
            FORCE INDEX (timers_by_uuid) WHERE ${orOfAll(states)})`),
        ]),
    ...(unused.length === 0
      ? []
      : [
          unless(`SELECT 1 FROM history AS h FORCE INDEX (history_by_id)
            WHERE ${ofKeys(
              "h",
              unused.map(({ change }) => change.key),
            )}`),
        ]),
  ]
}

/** All rows are written in the order of their uuids, except lives, whose numbers order lives of the same instant. */
export const writeStatements = (done: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const sorted = [...done].sort((a, b) => (a.change.key.uuid < b.change.key.uuid ? -1 : 1))
  return [...pendingStatements(sorted), ...lifeStatements(done), ...wordStatements(sorted)]
}

const uuidsOf = (done: ReadonlyArray<Done>) =>
  done.map(({ shard, change }) => ({ shard, uuid: change.key.uuid }))

/** Index hints are possible only in this form of DELETE. */
const deleteStatement = (table: string, index: string, done: ReadonlyArray<Done>): ReadonlyArray<string> =>
  done.length === 0
    ? []
    : [`DELETE d FROM ${table} AS d FORCE INDEX (${index}) WHERE ${ofShards("d", uuidsOf(done))}`]

const insertStatement = (into: string, values: ReadonlyArray<string>, more = ""): ReadonlyArray<string> =>
  values.length === 0 ? [] : [`INSERT INTO ${into} VALUES ${values.join(",\n")} ${more}`]

const pendingStatements = (done: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const written = done.flatMap(({ shard, change }) =>
    change.pending ? [{ shard, change, timer: change.pending }] : [],
  )
  const gone = done.filter(({ change }) => change.pending !== undefined && change.expects.pending !== null)
  const isSpecOnly = ({ expects, payload }: KeyChange) => expects.pending !== null && payload === "keep"
  const bodies = written.filter(({ change }) => !isSpecOnly(change))
  const specs = written.filter(({ change }) => isSpecOnly(change) && change.keepsSpec !== true)
  return [
    ...deleteStatement("timers", "timers_by_uuid", gone),
    ...deleteStatement(
      "bodies",
      "PRIMARY",
      gone.filter(({ change }) => change.pending === null),
    ),
    ...insertStatement(
      `timers (${timerNames})`,
      written.map(({ shard, timer }) => timerValues(shard, timer)),
    ),
    ...insertStatement(
      "bodies (shard, uuid, payload_bytes, spec, payload)",
      bodies.map(({ shard, timer }) => bodyValues(shard, timer, timer.payload)),
      "ON DUPLICATE KEY UPDATE payload_bytes = VALUES(payload_bytes), spec = VALUES(spec), payload = VALUES(payload)",
    ),
    ...insertStatement(
      "bodies (shard, uuid, payload_bytes, spec, payload)",
      specs.map(({ shard, timer }) => bodyValues(shard, timer, undefined)),
      "ON DUPLICATE KEY UPDATE spec = VALUES(spec)",
    ),
  ]
}

const bodyValues = (shard: number, { uuid, spec }: Timer, payload: Uint8Array | undefined): string =>
  `(${shard}, ${idLiteral(uuid)}, ${payload?.byteLength ?? 0}, ${literal(textOfSpec(spec))}, ${literal(payload)})`

/** A corrected life keeps its number, so that it keeps its position among lives of the same instant. */
const lifeStatements = (done: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const removed = done.flatMap(({ change, lifeId }) =>
    change.removesLife && lifeId !== undefined ? [lifeId] : [],
  )
  const ended = done.flatMap(({ shard, change, lifeId }) =>
    change.finished === undefined || change.removesLife ? [] : [{ shard, life: change.finished, lifeId }],
  )
  const added = ended.filter(({ lifeId }) => lifeId === undefined)
  return [
    ...(removed.length === 0 ? [] : [`DELETE FROM history WHERE id IN (${removed.join(", ")})`]),
    ...ended.flatMap(({ life, lifeId }) =>
      lifeId === undefined ? [] : [`UPDATE history SET ${lifeSettings(life)} WHERE id = ${lifeId}`],
    ),
    ...insertStatement(
      `history (${lifeNames})`,
      added.map(({ shard, life }) => lifeValues(shard, life)),
    ),
  ]
}

/** How many rows one statement removes. The server plans each of them. */
const wordsTogether = 500

const wordStatements = (done: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const removed = done.flatMap(({ change: { key, words } }) =>
    (words?.removed ?? []).map(
      (row) =>
        `(l.namespace = ${literal(key.namespace)} AND l.word = ${literal(row.word)} AND l.state = ${literal(row.state)}
          AND l.at = ${row.atMs} AND l.fire_id = ${idLiteral(row.fireId)})`,
    ),
  )
  const added = done.flatMap(({ change: { key, words } }) =>
    (words?.added ?? []).map((row) => wordValues(key.namespace, key.timerId, row)),
  )
  const pages = Array.from({ length: Math.ceil(removed.length / wordsTogether) }, (_, page) =>
    removed.slice(page * wordsTogether, (page + 1) * wordsTogether),
  )
  return [
    ...pages.map((page) => `DELETE l FROM lookups AS l FORCE INDEX (PRIMARY) WHERE ${orOfAll(page)}`),
    ...insertStatement(
      "lookups (namespace, timer_id, word, state, at, fire_id, revision)",
      added,
      "ON DUPLICATE KEY UPDATE revision = VALUES(revision)",
    ),
  ]
}

const wordValues = (namespace: string, timerId: string, row: WordRow): string =>
  `(${[namespace, timerId, row.word, row.state, row.atMs].map(literal).join(", ")}, ${idLiteral(row.fireId)}, ${row.revision})`
