// The bare limit of P3 on PostgreSQL. One statement per thousand rows fills the store's own table, in sessions with the
// store's settings. There is no fence, no counter and no look at existing rows.
import { shardOf } from "@punctual/server/domain/TimerKey"
import { connectionTo } from "@punctual/server/stores/postgres/connectionTo"
import { openDatabase } from "@punctual/server/stores/postgres/openDatabase"
import { startPostgres } from "../BenchPostgres.ts"
import { farAhead } from "../work.ts"
import { bareTimer } from "./BareTables.ts"

const shards = 16
const batch = 1_000

const insert = `INSERT INTO timers (fire_at, execute_at, revision, created_at, updated_at, shard, attempts, uuid, fire_id,
    namespace, timer_id, correlation_id, spec, payload)
  SELECT fire_at, fire_at, revision, revision, revision, shard, 0, uuid, fire_id, $1, timer_id, correlation_id, $2,
    convert_to($3, 'UTF8')
  FROM unnest($4::bigint[], $5::bigint[], $6::integer[], $7::uuid[], $8::uuid[], $9::text[], $10::text[])
    AS t (fire_at, revision, shard, uuid, fire_id, timer_id, correlation_id)`

/** Inserts rows into a new database, over several connections at once. Returns rows per second. */
export const insertAllOnPostgres = async (rows: number, connections: number): Promise<number> => {
  await using server = await startPostgres()
  const { place } = await openDatabase(server.database().url, shards)
  const batches = Array.from({ length: Math.ceil(rows / batch) }, parametersOf)
  const sqls = Array.from({ length: connections }, () => connectionTo(place))
  try {
    // The first statement on each connection connects it and prepares the statement.
    await Promise.all(sqls.map((sql) => sql.unsafe(insert, parametersOf())))
    const startedAt = performance.now()
    await Promise.all(
      sqls.map(async (sql) => {
        for (let next = batches.pop(); next !== undefined; next = batches.pop())
          await sql.unsafe(insert, next)
      }),
    )
    return ((Math.ceil(rows / batch) * batch) / (performance.now() - startedAt)) * 1_000
  } finally {
    await Promise.all(sqls.map((sql) => sql.close({ timeout: 0 }).catch(() => {})))
  }
}

const parametersOf = () => {
  const timers = Array.from({ length: batch }, () => bareTimer(farAhead()))
  const [first] = timers
  return [
    first?.namespace ?? "",
    JSON.stringify(first?.spec),
    Buffer.from(first?.payload ?? []).toString(),
    timers.map(({ fireAt }) => fireAt),
    timers.map(({ revision }) => revision),
    timers.map(({ uuid }) => shardOf(uuid, shards)),
    timers.map(({ uuid }) => uuid),
    timers.map(({ fireId }) => fireId),
    timers.map(({ timerId }) => timerId),
    timers.map(({ correlationId }) => correlationId),
  ]
}
