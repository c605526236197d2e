// The writes of the storage: commits, inserts without an owner, pruning. Each call is one round trip and one
// transaction. The server completes the transaction by itself, even if this process dies. functions.sql executes the
// changes.
import type { Timer } from "../../domain/Timer.ts"
import type { Commit, CommitAnswer, Inserted, KeyChange } from "../../ports/ShardStorage.ts"
import type { KeyCheck } from "../KeyCheck.ts"
import { wordsOfNew } from "../keyChangeOf.ts"
import { whyTimer, whyUnstorable, whyUnstorableByNumbers } from "../whyUnstorable.ts"
import { type ColumnForm, columnArrays } from "./Columns.ts"
import {
  type ChangeGroup,
  CommitRows,
  isEndedTimer,
  isNewTimer,
  Luggage,
  type SentParameters,
  timerRow,
  wordRows,
} from "./changeRows.ts"
import { isOfUsedKey, isOfValue } from "./failures.ts"
import { functionNamed } from "./functions.ts"
import { pruneSql } from "./statements.ts"

const firstTypes = ["integer[]", "bigint[]", "bigint[]", "bigint[]", "text::json", "bytea"]
const lastTypes = ["text::json", "text::json", "boolean"]

const commitSqlOf = (form: ColumnForm): string => {
  const columns = columnArrays(firstTypes.length + 1, form)
  const typed = (types: ReadonlyArray<string>, before: number) =>
    types.map((type, index) => `$${before + index + 1}::${type}`)
  const parameters = [
    ...typed(firstTypes, 0),
    ...columns,
    ...typed(lastTypes, firstTypes.length + columns.length),
  ]
  return `SELECT refused, stored, settled, missed FROM ${functionNamed("commit_changes")}(${parameters.join(", ")})`
}

const commitSql = { split: commitSqlOf("split"), quoted: commitSqlOf("quoted") }

const insertSql = `SELECT ${functionNamed("insert_new")}($1::integer, $2::text::json, $3::bytea, $4::text::json, $5::text::json) AS stored`

interface CommitRow {
  /** By shard. */
  readonly refused: { readonly [shard: string]: "ownershipLost" | "overtaken" } | null
  /** Keys. NULL if all changes were executed. */
  readonly stored: ReadonlyArray<string> | null
  readonly settled: ReadonlyArray<string> | null
  /** Places. */
  readonly missed: ReadonlyArray<number> | null
}

/** A commit as it was sent. */
interface SentCommit {
  readonly commit: Commit
  /** The place of its first change. The others follow. */
  readonly firstPlace: number
  /** How each change was sent. `undefined` if it was refused. */
  readonly groups: ReadonlyArray<ChangeGroup | undefined>
  readonly refused: ReadonlyArray<{ readonly index: number; readonly reason: string }>
}

export const commitAll = async (
  sql: Bun.SQL,
  commits: ReadonlyArray<Commit>,
  keyCheck: KeyCheck,
): Promise<ReadonlyArray<CommitAnswer>> => {
  if (commits.length === 0) return []
  // Fences are locked in the order in which they are named.
  const ordered = [...commits].sort((a, b) => a.shard - b.shard)
  const { sent, row } = await send(sql, ordered, keyCheck)
  const answers = new Map(sent.map((part) => [part.commit, answerOf(part, row)]))
  return commits.map((commit) => answers.get(commit) ?? { result: "ownershipLost" })
}

/**
 * Columns are checked as a whole, and PostgreSQL checks each value. Each change is checked on its own only if a column
 * looks wrong or PostgreSQL refuses a value. A call with a refused value has changed nothing.
 */
const send = async (sql: Bun.SQL, commits: ReadonlyArray<Commit>, keyCheck: KeyCheck) => {
  const quick = rowsOf(commits, (change) =>
    isNewTimer(change) || isEndedTimer(change) ? whyUnstorableByNumbers(change) : whyUnstorable(change),
  )
  if (!quick.rows.isSuspect) {
    try {
      return { sent: quick.sent, row: await call(sql, quick.parameters, keyCheck) }
    } catch (error) {
      if (!isOfValue(error)) throw error
    }
  }
  const { sent, parameters } = rowsOf(commits, whyUnstorable)
  return { sent, row: await call(sql, parameters, keyCheck) }
}

const call = async (
  sql: Bun.SQL,
  parameters: SentParameters,
  keyCheck: KeyCheck,
): Promise<CommitRow | undefined> => {
  const checksKeys = keyCheck.isOn
  const row = await callOnce(sql, parameters, checksKeys).catch((error) => {
    if (checksKeys || !isOfUsedKey(error)) throw error
    return callOnce(sql, parameters, true)
  })
  keyCheck.answered(row !== undefined && row.stored !== null)
  return row
}

const callOnce = async (
  sql: Bun.SQL,
  parameters: SentParameters,
  checksKeys: boolean,
): Promise<CommitRow | undefined> => {
  const rows: ReadonlyArray<CommitRow> = await sql.unsafe(commitSql[parameters.form], [
    ...parameters.values,
    checksKeys,
  ])
  return rows[0]
}

const rowsOf = (commits: ReadonlyArray<Commit>, whyRefused: (change: KeyChange) => string | undefined) => {
  const rows = new CommitRows()
  let firstPlace = 0
  const sent = commits.map((commit): SentCommit => {
    rows.startCommit()
    const refused: Array<{ readonly index: number; readonly reason: string }> = []
    const groups = commit.changes.map((change, index) => {
      const reason = whyRefused(change)
      if (reason === undefined) return rows.add(commit.shard, change, firstPlace + index)
      refused.push({ index, reason })
      return undefined
    })
    firstPlace += groups.length
    return { commit, firstPlace: firstPlace - groups.length, groups, refused }
  })
  return { rows, sent, parameters: rows.parameters(commits) }
}

const answerOf = (sent: SentCommit, row: CommitRow | undefined): CommitAnswer => {
  if (row === undefined) throw new Error("a commit was not answered")
  const result = row.refused?.[sent.commit.shard]
  if (result !== undefined) return { result }
  return { result: "committed", missed: missedOf(sent, row), refused: sent.refused }
}

const missedOf = (
  { commit, firstPlace, groups }: SentCommit,
  { stored, settled, missed }: CommitRow,
): ReadonlyArray<number> => {
  if (stored === null && settled === null && (missed === null || missed.length === 0)) return []
  const carriedOut = { new: stored && uuidsIn(stored), ended: settled && uuidsIn(settled) }
  const missedPlaces = new Set(missed)
  return commit.changes.flatMap(({ key }, index) => {
    const group = groups[index]
    if (group === undefined) return []
    if (group === "other") return missedPlaces.has(firstPlace + index) ? [index] : []
    return carriedOut[group]?.has(key.uuid) === false ? [index] : []
  })
}

/** PostgreSQL writes uuids with dashes. */
const uuidsIn = (texts: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(texts.map((text) => text.replaceAll("-", "")))

export const insertNew = async (
  sql: Bun.SQL,
  shard: number,
  timers: ReadonlyArray<Timer>,
): Promise<ReadonlyArray<Inserted>> => {
  const luggage = new Luggage()
  const keys = new Set<string>()
  const sent: Array<unknown> = []
  const words: Array<unknown> = []
  const inserted = timers.map((timer): Inserted | undefined => {
    const refused = whyTimer(timer)
    if (refused !== undefined) return { refused }
    // The second timer of a key misses because of the first.
    if (keys.has(timer.uuid)) return "missed"
    keys.add(timer.uuid)
    const { namespace, timerId, uuid } = timer
    sent.push({ namespace, timer_id: timerId, uuid, ...timerRow(timer, { payload: "write" }, luggage) })
    const change = wordsOfNew(timer).words
    if (change !== undefined) words.push(...wordRows(timer, change, {}))
    return undefined
  })
  const rows: ReadonlyArray<{ readonly stored: ReadonlyArray<string> }> = await sql.unsafe(insertSql, [
    shard,
    luggage.specsText,
    luggage.payloads,
    JSON.stringify(sent),
    words.length === 0 ? null : JSON.stringify(words),
  ])
  const stored = uuidsIn(rows[0]?.stored ?? [])
  return timers.map(({ uuid }, index) => inserted[index] ?? (stored.has(uuid) ? "stored" : "missed"))
}

export const prune = async (sql: Bun.SQL, exclusiveBeforeMs: number, limit: number): Promise<number> => {
  const rows: ReadonlyArray<{ pruned: number }> = await sql.unsafe(pruneSql, [exclusiveBeforeMs, limit])
  return rows[0]?.pruned ?? 0
}
