// Commands on a store without a service. Cassandra has no transaction that sees many partitions as of one instant, so an
// archive is a copy. While services write, each timer is copied as it is at some moment of the opening. A timer that ends
// or moves meanwhile is copied once: in its later state. The counts of an examination are of one moment for each shard.
import { cassandraDocuments } from "@punctual/documents/cassandra/cassandraDocuments"
import type { KeptRow } from "../RowCounting.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { Fences } from "./Fences.ts"
import { explainedCassandra } from "./failures.ts"
import { Keys, lifeRowOf } from "./Keys.ts"
import { cassandraLeases } from "./Leases.ts"
import { connectTo, openDatabase, storedSchema } from "./openDatabase.ts"
import { endOfPlaces, entryOfLife, keyAt, kinds } from "./places.ts"
import { readClock } from "./Reader.ts"
import { bytesIn, textIn } from "./rows.ts"
import type { Row, Session } from "./Session.ts"
import { allShards, ShardWalk } from "./scans.ts"
import { programVersion } from "./schema.ts"

export const cassandraKeeper = (target: CassandraTarget): StoreKeeper =>
  keeperOf<Session>({
    name: "cassandra",
    shown: target.shown,
    programVersion,
    connect: () => connectTo(target),
    close: (session) => session.close(),
    explain: (error) => explainedCassandra(error, target),
    schema: (session) => storedSchema(session, target),
    migrate: async (shards) => (await openDatabase(target, shards)).close(),
    documents: cassandraDocuments,
    rows: {
      pages: async function* (session, { shards }, withPayload) {
        const keys = new Keys(session, shards)
        for (const shard of allShards(shards)) {
          for await (const rows of rowsOf(session, shard, kinds.key)) {
            yield pendingIn(keys, rows, withPayload)
          }
          for await (const rows of rowsOf(session, shard, kinds.life)) {
            const named = rows.map((row) => ({ key: keyAt(bytesIn(row, "place")), life: lifeRowOf(row) }))
            const lives = await keys.livesOf(named, withPayload)
            yield lives.map((life) => ({ item: { kind: "ended", life }, shard, entry: entryOfLife(life) }))
          }
        }
      },
      pendingOf: async (session, { shards }, ended) => {
        const keys = new Keys(session, shards)
        const rows = await keys.rowsOf(ended)
        return pendingIn(
          keys,
          rows.filter((row) => row !== undefined),
          true,
        )
      },
    },
    owners: (session) => cassandraLeases.owners({ session }),
    tallies: (session, { shards }) => new Fences(session).tallies(allShards(shards)),
    clockMs: (session) => readClock({ session }),
  })

/** The pending timers among rows of keys. */
const pendingIn = async (
  keys: Keys,
  rows: ReadonlyArray<Row>,
  withPayload: boolean,
): Promise<ReadonlyArray<KeptRow>> => {
  const pending = rows.filter((row) => textIn(row, "state") !== undefined)
  const reads = pending.map((row) => ({ key: keyAt(bytesIn(row, "place")), row }))
  const timers = await keys.timersOf(reads, withPayload)
  return timers.flatMap((timer) =>
    timer === undefined ? [] : [{ item: { kind: "pending", timer }, shard: keys.shardOf(timer) }],
  )
}

const rowsAtOnce = 200
const noBytes = Buffer.alloc(0)

/** All rows of a kind in a shard, page by page. */
async function* rowsOf(session: Session, shard: number, kind: number): AsyncGenerator<ReadonlyArray<Row>> {
  const range = { kind, inclusiveFrom: noBytes, exclusiveUntil: endOfPlaces(noBytes), isDescending: false }
  const walk = new ShardWalk(session, [shard], range)
  for (;;) {
    const rows = await walk.take(rowsAtOnce)
    if (rows.length > 0) yield rows.map(({ row }) => row)
    if (rows.length < rowsAtOnce) return
  }
}
