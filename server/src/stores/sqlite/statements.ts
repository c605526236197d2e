// All statements of the hot paths, by name, so that a test can check the query plan of each. INDEXED BY makes a missing
// index an error instead of a scan. Keys are (?1 namespace, ?2 timer_id).
import { pendingFields, type TimerField } from "../../domain/timerFields.ts"
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

const timerNames = `shard, uuid, namespace, timer_id, ${names(pendingFields)}`
const timerValues = `?1, unhex(?2), ?3, ?4, ${values(pendingFields, 5)}`

const lifeNames = `uuid, namespace, timer_id, ${names(storedLifeFields)}, spec`
/** The number of the parameter with the spec, which is the last one. */
const specNumber = 4 + storedLifeFields.length
const lifeValues = `unhex(?1), ?2, ?3, ${values(storedLifeFields, 4)}, ?${specNumber}`

export const lookupSql = {
  /** What exists under a key, as row ids and revisions. */
  probe: `SELECT (SELECT id FROM timers INDEXED BY timers_by_key WHERE namespace = ?1 AND timer_id = ?2) AS pending,
    ${lastRevision("history")} AS ended, ${lastRevision("dead")} AS dead`,
  head: `SELECT ${timerColumns} FROM timers AS t INDEXED BY timers_by_key WHERE namespace = ?1 AND timer_id = ?2`,
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
    WHERE NOT EXISTS (SELECT 1 FROM history INDEXED BY history_by_key WHERE namespace = ?3 AND timer_id = ?4)
      AND NOT EXISTS (SELECT 1 FROM dead INDEXED BY dead_by_key WHERE namespace = ?3 AND timer_id = ?4)
    ON CONFLICT (namespace, timer_id) DO NOTHING`,
  insertBody: "INSERT INTO bodies (id, spec, payload) VALUES (last_insert_rowid(), ?1, ?2)",
  updateTimer: `UPDATE timers SET ${pendingFields.map((field, index) => `${field.column} = ${parameterOf(field, index + 2)}`).join(", ")}
    WHERE id = ?1`,
  updateBody: "UPDATE bodies SET spec = ?2, payload = ?3 WHERE id = ?1",
  updateSpec: "UPDATE bodies SET spec = ?2 WHERE id = ?1",
  /** The pending row, if it is still in this state. */
  inState: `SELECT id FROM timers INDEXED BY timers_by_key WHERE namespace = ?1 AND timer_id = ?2
    AND fire_id = unhex(?3, '-') AND attempts = ?4 AND revision = ?5 AND asked_at IS ?6`,
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

const after = "(t.fire_at, t.fire_id) > (?2, ?3) AND t.fire_at <= ?4"
const inDueOrder = "ORDER BY t.fire_at, t.fire_id LIMIT ?5"

const duePages = (columns: string, join: string) => ({
  all: `SELECT ${columns} FROM timers AS t INDEXED BY timers_by_due ${join}
    WHERE t.shard = ?1 AND ${after} ${inDueOrder}`,
  only: `SELECT ${columns} FROM timers AS t INDEXED BY timers_by_namespace ${join}
    WHERE t.shard = ?1 AND t.namespace = ?6 AND ${after} ${inDueOrder}`,
  /** ?6 is a JSON array of namespaces. */
  except: `SELECT ${columns} FROM timers AS t INDEXED BY timers_by_due ${join}
    WHERE t.shard = ?1 AND ${after} AND t.namespace NOT IN (SELECT value FROM json_each(?6)) ${inDueOrder}`,
})

/** CROSS JOIN keeps the order of the loops: first the index, then its bodies. */
const withBody = "CROSS JOIN bodies AS b ON b.id = t.id"

export const readerSql = {
  /** In the order in which timerWire.ts writes a timer. */
  due: duePages(`t.namespace, t.timer_id, lower(hex(t.uuid)), ${fieldColumns}, b.spec, b.payload`, withBody),
  heads: duePages(`${keyColumns}, lower(hex(t.fire_id)) AS fire_id, t.fire_at`, ""),
  tally: `SELECT sum(created) AS created, sum(rearmed) AS rearmed, sum(replayed) AS replayed,
    sum(delivered) AS delivered, sum(cancelled) AS cancelled, sum(replaced) AS replaced, sum(dead) AS dead,
    sum(discarded) AS discarded FROM tally`,
} as const

/** Everything in the store, in the order of a stable key: ids of lives increase as they end. */
export const archiveSql = {
  pending: `SELECT ${timerColumns}, ${keyColumns}, b.spec, b.payload FROM timers AS t INDEXED BY timers_by_key
    LEFT JOIN bodies AS b ON b.id = t.id WHERE (t.namespace, t.timer_id) > (?1, ?2) ORDER BY t.namespace, t.timer_id LIMIT ?3`,
  history: `SELECT ${historyColumns} FROM history WHERE id > ?1 ORDER BY id LIMIT ?2`,
  dead: `SELECT ${deadColumns} FROM dead WHERE id > ?1 ORDER BY id LIMIT ?2`,
} as const
