// PostgreSQL after many timers were created and finished. Compared with a time near the start, the tables and indexes must
// not be larger, and a page of due timers must not take longer. A fixed number of timers stays pending all the time.
import { randomUUID } from "node:crypto"
import { beginning } from "@punctual/server/domain/DueOrder"
import type { Timer } from "@punctual/server/domain/Timer"
import { keyOf, shardOf } from "@punctual/server/domain/TimerKey"
import type { WriteItem } from "@punctual/server/domain/WriteItem"
import { ShardLeases } from "@punctual/server/ports/ShardLeases"
import { TimerStore } from "@punctual/server/ports/TimerStore"
import { PostgresStore } from "@punctual/server/stores/postgres/PostgresStore"
import { outcomeOf } from "@punctual/server/testkit/timers"
import { Effect } from "effect"
import { type Benchmark, count, figure, percentile, type Report } from "../Benchmark.ts"
import { startPostgres } from "../BenchPostgres.ts"
import { handlerSpec, namespace } from "../EngineOnDisk.ts"
import { payload } from "../work.ts"

const shards = 16
const pendingTimers = 20_000
const together = 1_000
const historyKept = 50_000
/** The end is compared with the state after this share of the run: early, but after vacuum has a steady rate. */
const startShare = 0.2
const mostGrowth = 1.5

interface Figures {
  readonly gone: number
  readonly tableMb: number
  readonly indexMb: number
  readonly dueMs: number
}

export const Vacuum: Benchmark = {
  id: "Vacuum",
  title: "PostgreSQL: sizes and due reads after 5,000,000 timers have come and gone, 20,000 pending",
  needs: ["postgres"],
  uses: ["postgres"],
  hasPeers: false,
  run: async ({ isQuick }, progress) => {
    const timers = isQuick ? 20_000 : 5_000_000
    await using server = await startPostgres()
    const { url, schema } = server.database()
    await using sql = new Bun.SQL(server.url, { max: 1 })
    const sizes = () => sizesOf(sql, schema)
    const figures = await Effect.runPromise(
      churn(timers, sizes, progress).pipe(
        Effect.provide(PostgresStore.layer({ url, shards })),
        Effect.scoped,
      ),
    )
    return reportOf(figures, timers)
  },
}

const reportOf = (figures: ReadonlyArray<Figures>, timers: number): Report => {
  const start = figures.find(({ gone }) => gone >= timers * startShare)
  const end = figures.at(-1)
  if (start === undefined || end === undefined) throw new Error("nothing was measured")
  const growth = (label: string, of: (figures: Figures) => number) => {
    const value = of(end) / of(start)
    return { label, value: value.toFixed(2), target: `≤ ${mostGrowth}`, isReached: value <= mostGrowth }
  }
  return {
    rows: figures.map(({ gone, tableMb, indexMb, dueMs }) => ({
      name: `after ${count(gone)}`,
      values: `table ${tableMb.toFixed(0)} MB, indexes ${indexMb.toFixed(0)} MB, due page ${dueMs.toFixed(1)} ms`,
      figures: [
        figure("table", "MB", [tableMb]),
        figure("indexes", "MB", [indexMb]),
        figure("due page", "ms", [dueMs]),
      ],
    })),
    verdicts: [
      growth("table, end to start", ({ tableMb }) => tableMb),
      growth("indexes, end to start", ({ indexMb }) => indexMb),
      growth("due page, end to start", ({ dueMs }) => dueMs),
    ],
  }
}

const churn = Effect.fnUntraced(function* (
  timers: number,
  sizes: () => Promise<Pick<Figures, "tableMb" | "indexMb">>,
  progress: (message: string) => void,
) {
  const store = yield* TimerStore
  const leases = yield* ShardLeases
  const epochs: Array<number> = []
  for (const lease of yield* leases.owners) {
    epochs[lease.shard] = (yield* leases.claim(lease, "bench"))?.epoch ?? 0
  }
  let number = 0
  const write = (items: ReadonlyArray<{ readonly timer: Timer; readonly item: WriteItem }>) => {
    const byShard = new Map<number, Array<WriteItem>>()
    for (const { timer, item } of items) {
      const shard = shardOf(timer.uuid, shards)
      byShard.set(shard, [...(byShard.get(shard) ?? []), item])
    }
    number++
    return store.write(
      [...byShard].map(([shard, items]) => ({ shard, epoch: epochs[shard] ?? 0, number, items })),
    )
  }
  const dueMs = Effect.gen(function* () {
    const took: Array<number> = []
    for (let read = 0; read < 48; read++) {
      const startedAt = performance.now()
      yield* store.due({
        shard: read % shards,
        exclusiveAfter: beginning,
        inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
        limit: 500,
      })
      took.push(performance.now() - startedAt)
    }
    return percentile(took, 0.5)
  })

  const figures: Array<Figures> = []
  const pending: Array<Timer> = []
  for (let gone = 0, made = 0; gone < timers; ) {
    const come = Array.from({ length: together }, () => newTimer(made++))
    yield* write(come.map((timer) => ({ timer, item: putOf(timer) })))
    pending.push(...come)
    if (pending.length <= pendingTimers) continue
    const ended = pending.splice(0, together)
    yield* write(ended.map((timer) => ({ timer, item: deliveredOf(timer) })))
    gone += ended.length
    if (gone > historyKept) yield* store.prune(Number.MAX_SAFE_INTEGER, together)
    if (gone % (timers / 20) < together) {
      const now = { gone, ...(yield* Effect.promise(sizes)), dueMs: yield* dueMs }
      figures.push(now)
      progress(
        `${count(gone)} of ${count(timers)}: table ${now.tableMb.toFixed(0)} MB, due page ${now.dueMs.toFixed(1)} ms`,
      )
    }
  }
  return figures
})

/** Timers are due one after the other. So finished timers are at the front of the due index, as when timers fire. */
const newTimer = (number: number): Timer => {
  const now = Date.now()
  const executeAt = now + 3_600_000 + number
  return {
    ...keyOf(namespace, randomUUID()),
    fireId: Bun.randomUUIDv7(),
    revision: now,
    executeAt,
    fireAt: executeAt,
    attempts: 0,
    createdAt: now,
    updatedAt: now,
    correlationId: "bench",
    spec: handlerSpec,
    payload,
  }
}

const putOf = (timer: Timer): WriteItem => ({
  kind: "put",
  timer,
  onExisting: "replace",
  madeCorrelationId: true,
})

const deliveredOf = (timer: Timer): WriteItem =>
  outcomeOf(timer, { to: "delivered", latenessMs: 1 }, { at: timer.executeAt })

const sizesOf = async (sql: Bun.SQL, schema: string): Promise<Pick<Figures, "tableMb" | "indexMb">> => {
  const [row] = await sql`
    SELECT pg_table_size(${`${schema}.timers`}::regclass)::float8 AS table_bytes,
           pg_indexes_size(${`${schema}.timers`}::regclass)::float8 AS index_bytes`
  return { tableMb: row.table_bytes / 2 ** 20, indexMb: row.index_bytes / 2 ** 20 }
}
