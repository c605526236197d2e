// Reads what the changes of a commit expect to find, after their fences were locked, and decides which expectations are
// met. fireIds are read back and compared. How many rows a statement affected says nothing about which.
import type { KeyChange } from "../../ports/ShardStorage.ts"
import { lastLives, namedLives } from "./looks.ts"
import { dashed, fireIdColumn, numberColumn, ofShards, uuidColumn } from "./rows.ts"
import type { Done } from "./writes.ts"

/** The columns of the three statements. */
export interface FoundRows {
  readonly uuid: string
  readonly fire_id: string
  readonly revision: number
  readonly attempts: number
  readonly asked_at: number | null
  readonly state: string
  readonly id: number
}

const identity = (alias: string): string =>
  `${uuidColumn(alias)}, ${fireIdColumn(alias)}, ${numberColumn(alias, "revision")}`

const none = "SELECT 1 FROM DUAL WHERE FALSE"

/** Pending rows, last lives, and the lives to correct or remove. The latter are locked, because pruning may run. */
export const foundStatements = (asked: ReadonlyArray<Done>): ReadonlyArray<string> => {
  const pending = asked.filter(({ change }) => change.expects.pending !== undefined)
  const last = asked.filter(({ change }) => change.expects.last !== undefined)
  const lives = asked.flatMap(({ change: { key, expects } }) =>
    expects.life === undefined ? [] : [{ key, ...expects.life }],
  )
  return [
    pending.length === 0
      ? none
      : `SELECT ${identity("t")}, t.attempts, ${numberColumn("t", "asked_at")} FROM timers AS t
          FORCE INDEX (timers_by_uuid) WHERE ${ofShards(
            "t",
            pending.map(({ shard, change }) => ({ shard, uuid: change.key.uuid })),
          )}`,
    last.length === 0
      ? none
      : `SELECT ${identity("h")} FROM ${lastLives(last.map(({ change }) => change.key))}`,
    lives.length === 0
      ? none
      : `SELECT ${identity("h")}, h.state, ${numberColumn("h", "id")} FROM history AS h FORCE INDEX (history_by_id)
          WHERE ${namedLives(lives)} FOR UPDATE`,
  ]
}

/** Returns the change with the number of the life that it names, or `undefined` if an expectation is not met. */
export const isMet = (results: ReadonlyArray<ReadonlyArray<FoundRows>>) => {
  const [pendingRows = [], lastRows = [], lifeRows = []] = results
  const pending = new Map(pendingRows.map((row) => [row.uuid, row]))
  const last = new Map(lastRows.map((row) => [row.uuid, row]))
  return <One extends Done>(one: One): One | undefined => {
    const { key, expects } = one.change
    if (!isPendingMet(expects.pending, pending.get(key.uuid))) return undefined
    if (expects.last !== undefined && expects.last !== fireIdOf(last.get(key.uuid))) return undefined
    const { life } = expects
    if (life === undefined) return one
    const found = lifeRows.find(
      (row) => row.uuid === key.uuid && fireIdOf(row) === life.fireId && row.revision >= life.minRevision,
    )
    if ((found?.state ?? null) !== life.state) return undefined
    return found === undefined ? one : { ...one, lifeId: found.id }
  }
}

const isPendingMet = (expected: KeyChange["expects"]["pending"], row: FoundRows | undefined): boolean => {
  if (expected === undefined) return true
  if (expected === null || row === undefined) return expected === null && row === undefined
  return (
    fireIdOf(row) === expected.fireId &&
    row.attempts === expected.attempts &&
    row.revision === expected.revision &&
    row.asked_at === (expected.askedAt ?? null)
  )
}

const fireIdOf = (row: FoundRows | undefined): string | null =>
  row === undefined ? null : dashed(row.fire_id)
