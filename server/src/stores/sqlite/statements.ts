// All statements of the hot paths, by name, so that a test can check the query plan of each. INDEXED BY makes a missing
// index an error instead of a scan. Keys are (?1 namespace, ?2 timer_id).
import { pendingFields, type TimerField } from "../../domain/timerFields.ts"
import { type Levels, pageOfLevels, unionOfLevels } from "./level0/orders.ts"
import {
  deadColumns,
  fieldColumns,
  historyColumns,
  keyColumns,
  storedLifeFields,
  timerColumns,
} from "./rows.ts"

const lastRevision = (table: "history" | "dead"): string =>
  `(SELECT revision FROM ${table} INDEXED BY ${table}_by_key WHERE namespace = ?1 AND timer_id = ?2
    ORDER BY revision DESC LIMIT 1)`

const names = (fields: ReadonlyArray<TimerField>): string => fields.map(({ column }) => column).join(", ")

/** The SQL of a field's value, as the parameter with this number. */
const parameterOf = ({ kind }: TimerField, number: number): string =>
  kind === "fireId" ? `unhex(?${number}, '-')` : `?${number}`

/** One parameter for each field, starting with this number. */
const values = (fields: ReadonlyArray<TimerField>, from: number): string =>
  fields.map((field, index) => parameterOf(field, from + index)).join(", ")

const timerNames = `id, shard, uuid, namespace, timer_id, ${names(pendingFields)}`
const timerValues = `?1, ?2, unhex(?3), ?4, ?5, ${values(pendingFields, 6)}`
const lacks = (table: string, source: string): string =>
  `NOT EXISTS (SELECT 1 FROM ${table} ${source} WHERE namespace = ?4 AND timer_id = ?5)`
const hasNoLives = `${lacks("history", "INDEXED BY history_by_key")} AND ${lacks("dead", "INDEXED BY dead_by_key")}`

const lifeNames = `uuid, namespace, timer_id, ${names(storedLifeFields)}, spec`
/** The number of the parameter with the spec, which is the last one. */
const specNumber = 4 + storedLifeFields.length
const lifeValues = `unhex(?1), ?2, ?3, ${values(storedLifeFields, 4)}, ?${specNumber}`

export const lookupSql = {
  /** The last lives of a key, as revisions. */
  probe: `SELECT ${lastRevision("history")} AS ended, ${lastRevision("dead")} AS dead`,
  head: `SELECT ${timerColumns} FROM timers AS t WHERE id = ?1`,
  spec: "SELECT spec FROM bodies WHERE id = ?1",
  body: "SELECT spec, payload FROM bodies WHERE id = ?1",
  endedLife: `SELECT ${historyColumns} FROM history INDEXED BY history_by_key
    WHERE namespace = ?1 AND timer_id = ?2 AND revision = ?3`,
  deadLife: `SELECT ${deadColumns} FROM dead INDEXED BY dead_by_key
    WHERE namespace = ?1 AND timer_id = ?2 AND revision = ?3`,
  /** A cancel raises the revision of a life, so only lives with this revision or a higher one are read. */
  endedArming: `SELECT ${historyColumns} FROM history INDEXED BY history_by_key
    WHERE namespace = ?1 AND timer_id = ?2 AND revision >= ?3 AND fire_id = unhex(?4, '-') LIMIT 1`,
  deadArming: `SELECT ${deadColumns} FROM dead INDEXED BY dead_by_key
    WHERE namespace = ?1 AND timer_id = ?2 AND revision >= ?3 AND fire_id = unhex(?4, '-') LIMIT 1`,
} as const

export const writerSql = {
  epoch: "SELECT epoch FROM shards WHERE shard = ?1",
  insertTimer: `INSERT INTO timers (${timerNames}) VALUES (${timerValues})`,
  /** Inserts only if the key is unused. Most puts have unused keys, and need no look beforehand. */
  insertNewTimer: `INSERT INTO timers (${timerNames}) SELECT ${timerValues}
    WHERE ${lacks("timer_keys", "")} AND ${hasNoLives}`,
  /** The same for a key that has no pending timer, although the table of keys may still have one. */
  insertTimerWithoutLives: `INSERT INTO timers (${timerNames}) SELECT ${timerValues} WHERE ${hasNoLives}`,
  insertBody: "INSERT INTO bodies (id, spec, payload) VALUES (?1, ?2, ?3)",
  updateTimer: `UPDATE timers SET ${pendingFields.map((field, index) => `${field.column} = ${parameterOf(field, index + 2)}`).join(", ")}
    WHERE id = ?1`,
  updateBody: "UPDATE bodies SET spec = ?2, payload = ?3 WHERE id = ?1",
  updateSpec: "UPDATE bodies SET spec = ?2 WHERE id = ?1",
  /** The pending row, if it is still in this state. */
  inState: `SELECT id, shard, fire_at FROM timers
    WHERE id = ?1 AND fire_id = unhex(?2, '-') AND attempts = ?3 AND revision = ?4 AND asked_at IS ?5`,
  deleteTimer: "DELETE FROM timers WHERE id = ?1",
  deleteBody: "DELETE FROM bodies WHERE id = ?1",
  insertEnded: `INSERT INTO history (${lifeNames}, state, id, reason)
    VALUES (${lifeValues}, ?${specNumber + 1}, ?${specNumber + 2}, ?${specNumber + 3})`,
  insertDead: `INSERT INTO dead (${lifeNames}, reason, payload) VALUES (${lifeValues}, ?${specNumber + 1}, ?${specNumber + 2})`,
  deleteEnded: "DELETE FROM history WHERE id = ?1",
  deleteDead: "DELETE FROM dead WHERE id = ?1",
  tally: `UPDATE tally SET created = created + ?2, rearmed = rearmed + ?3, replayed = replayed + ?4,
    delivered = delivered + ?5, cancelled = cancelled + ?6, replaced = replaced + ?7, dead = dead + ?8,
    discarded = discarded + ?9 WHERE shard = ?1`,
  foreign: "UPDATE shards SET foreign_writes = foreign_writes + 1 WHERE shard = ?1",
  /** Looks at ?3 rows above id ?2 and removes at most ?4 of them that ended before ?1. */
  prune: `DELETE FROM history WHERE id IN (SELECT id FROM
    (SELECT id, finished_at FROM history WHERE id > ?2 ORDER BY id LIMIT ?3) WHERE finished_at < ?1 LIMIT ?4)`,
  /** The id at which such a look ends, if it did not reach the end. */
  pruneEnd: "SELECT id FROM history WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2",
  insertWord: `INSERT OR REPLACE INTO lookups (namespace, timer_id, word, state, at, fire_id, revision)
    VALUES (?1, ?2, ?3, ?4, ?5, unhex(?6, '-'), ?7)`,
  deleteWord: `DELETE FROM lookups WHERE namespace = ?1 AND word = ?2 AND state = ?3 AND at = ?4
    AND fire_id = unhex(?5, '-')`,
  pruneWords: `DELETE FROM lookups WHERE (namespace, word, state, at, fire_id) IN (
    SELECT namespace, word, state, at, fire_id FROM lookups INDEXED BY lookups_prunable
    WHERE state IN ('delivered', 'cancelled') AND at < ?1 ORDER BY at LIMIT ?2)`,
  owners: "SELECT shard, epoch, counter, foreign_writes, node FROM shards ORDER BY shard",
  claim: `UPDATE shards SET epoch = epoch + 1, counter = counter + 1, node = ?4
    WHERE shard = ?1 AND epoch = ?2 AND counter = ?3
    RETURNING shard, epoch, counter, foreign_writes, node`,
  renew: `UPDATE shards SET counter = counter + 1 WHERE shard = ?1 AND epoch = ?2 AND node IS NOT NULL
    RETURNING foreign_writes`,
  release: "UPDATE shards SET node = NULL WHERE shard = ?1 AND epoch = ?2",
  freeAll: "UPDATE shards SET node = NULL WHERE node IS NOT NULL",
} as const

/** The row of the pending timer of a key, as the tables know it. */
export const storedIdSql = "SELECT id FROM timer_keys WHERE namespace = ?1 AND timer_id = ?2"

/** The same with these levels above them. */
export const pendingIdSql = (levels: Levels): string =>
  `${unionOfLevels(
    levels,
    "keys",
    (from, conditions) =>
      `SELECT e.id FROM ${from} WHERE ${["e.namespace = ?1", "e.timer_id = ?2", ...conditions].join(" AND ")}`,
  )} LIMIT 1`

/** All namespaces, or only ?6, or all except those in the JSON array ?6. */
export type DueChoice = "all" | "only" | "except"

const choices: { readonly [choice in DueChoice]: ReadonlyArray<string> } = {
  all: [],
  only: ["e.namespace = ?6"],
  except: ["e.namespace NOT IN (SELECT value FROM json_each(?6))"],
}

/** A page of entries in due order, and the rows that belong to them. CROSS JOIN keeps the order of the loops. */
const duePage = (
  levels: Levels,
  choice: DueChoice,
  {
    columns,
    join,
    further,
  }: { readonly columns: string; readonly join: string; readonly further: ReadonlyArray<string> },
): string => {
  const page = pageOfLevels(
    levels,
    choice === "only" ? "times" : "dues",
    (from, conditions) => {
      const all = [
        "e.shard = ?1",
        "(e.fire_at, e.fire_id) > (?2, ?3)",
        "e.fire_at <= ?4",
        ...choices[choice],
        ...further,
        ...conditions,
      ]
      return `SELECT e.id, e.fire_at, e.fire_id FROM ${from} WHERE ${all.join(" AND ")}`
    },
    "ORDER BY fire_at, fire_id LIMIT ?5",
  )
  return `SELECT ${columns} FROM (${page}) AS p CROSS JOIN main.timers AS t ON t.id = p.id ${join}`
}

export const dueSql = {
  /** In the order in which timerWire.ts writes a timer. */
  timers: (levels: Levels, choice: DueChoice) =>
    duePage(levels, choice, {
      columns: `t.namespace, t.timer_id, lower(hex(t.uuid)), ${fieldColumns}, b.spec, b.payload`,
      join: "CROSS JOIN main.bodies AS b ON b.id = p.id",
      further: ["EXISTS (SELECT 1 FROM main.bodies WHERE bodies.id = e.id)"],
    }),
  heads: (levels: Levels, choice: DueChoice) =>
    duePage(levels, choice, {
      columns: `${keyColumns}, lower(hex(t.fire_id)) AS fire_id, t.fire_at`,
      join: "",
      further: [],
    }),
} as const

export const tallySql = `SELECT sum(created) AS created, sum(rearmed) AS rearmed, sum(replayed) AS replayed,
  sum(delivered) AS delivered, sum(cancelled) AS cancelled, sum(replaced) AS replaced, sum(dead) AS dead,
  sum(discarded) AS discarded FROM tally`

/** Everything in the store, in the order of a stable key: ids of lives increase as they end. */
export const archiveSql = {
  pending: `SELECT ${timerColumns}, ${keyColumns}, b.spec, b.payload FROM timers AS t
    LEFT JOIN bodies AS b ON b.id = t.id WHERE t.id > ?1 ORDER BY t.id LIMIT ?2`,
  history: `SELECT ${historyColumns} FROM history WHERE id > ?1 ORDER BY id LIMIT ?2`,
  dead: `SELECT ${deadColumns} FROM dead WHERE id > ?1 ORDER BY id LIMIT ?2`,
} as const
