// Cassandra stores on a server that the tests start, for suites and tests. Each test file starts one server, and every
// store has its own name on it.
import { afterAll, beforeAll } from "bun:test"
import { Effect, Layer } from "effect"
import { CassandraDriverClient } from "../../drivers/cassandra/cassandra.ts"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import { textOfLog } from "../src/stores/AttemptLogText.ts"
import { CassandraStore } from "../src/stores/cassandra/CassandraStore.ts"
import { type CassandraTarget, parseCassandraUrl } from "../src/stores/cassandra/cassandraUrl.ts"
import { keyPlace, kinds, lifePlace } from "../src/stores/cassandra/places.ts"
import { bodyAt, parts, uuidBytes } from "../src/stores/cassandra/rows.ts"
import { Session } from "../src/stores/cassandra/Session.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import { CassandraServer } from "./CassandraServer.ts"
import { eventually } from "./eventually.ts"
import { type DamagedTexts, RowDamage } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

/** A conditional batch waits for the disk four times, and these tests kill no server. */
const quickSettings = { commitlog_sync: "periodic", commitlog_sync_period: "10000ms" }

/** A server for the tests of the current `describe`. */
export const cassandraForTests = (): (() => CassandraServer) => {
  let server: CassandraServer | undefined
  beforeAll(async () => {
    server = await CassandraServer.start({ settings: quickSettings })
  }, 240_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  return () => {
    if (server === undefined) throw new Error("the server has not been started")
    return server
  }
}

export const targetOf = (url: string): CassandraTarget => {
  const parsed = parseCassandraUrl(url)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

export const cassandraLayer = (url: string, shards: number) =>
  CassandraStore.layer({ target: targetOf(url), shards })

const noInserts = "a condition of one node and an insert of another could not see each other"

export const cassandraFixture = (server: () => CassandraServer): StoreFixture => ({
  name: "cassandra",
  insertsSkipped: noInserts,
  writesSlowly: true,
  fresh: ({ shards }) => Layer.unwrap(Effect.sync(() => cassandraLayer(server().newUrl(), shards))),
  damageable: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => {
        const url = server().newUrl()
        return Layer.merge(cassandraLayer(url, shards), Layer.succeed(RowDamage, damageIn(url, shards)))
      }),
    ),
  reopened: ({ shards }) => {
    const url = server().newUrl()
    return { first: cassandraLayer(url, shards), second: cassandraLayer(url, shards), dispose: () => {} }
  },
})

export const cassandraStorageFixture = (server: () => CassandraServer): StorageFixture => ({
  name: "cassandra",
  refusedTimer: sampleTimer({ correlationId: "a\0b" }),
  storage: ({ shards }) => Layer.unwrap(Effect.sync(() => cassandraLayer(server().newUrl(), shards))),
})

/** A session on the keyspace of a store. */
export const sessionOn = async (url: string): Promise<Session> => {
  const session = await Session.connect(targetOf(url))
  await session.use("punctual")
  return session
}

/** What the server says that it did for a statement. */
export const tracedEvents = async (
  url: string,
  query: string,
  params: ReadonlyArray<string | number | Buffer>,
): Promise<ReadonlyArray<string>> => {
  const { hosts, dataCenter } = targetOf(url)
  const client = new CassandraDriverClient({
    contactPoints: [...hosts],
    localDataCenter: dataCenter,
    keyspace: "punctual",
    encoding: { useBigIntAsLong: true },
  })
  try {
    const { info } = await client.execute(query, [...params], { prepare: true, traceQuery: true })
    return await eventually("the trace is complete", async () => {
      const { parameters, duration, events } = await client.metadata.getTrace(info.traceId)
      if (duration === null || parameters === undefined) return undefined
      return events.map(({ activity }) => activity ?? "")
    })
  } finally {
    await client.shutdown()
  }
}

/** Tags are in the JSON of the row, and the other texts are bodies. */
const damageIn = (url: string, shards: number): RowDamage["Service"] => {
  const set = (row: Timer | FinishedLife, texts: { readonly [name in keyof DamagedTexts]?: string | null }) =>
    Effect.promise(async () => {
      const session = await sessionOn(url)
      const shard = shardOf(row.uuid, shards)
      try {
        if (texts.spec !== undefined) await setBody(session, row, shard, "spec", texts.spec)
        if (texts.last_attempt !== undefined) await setBody(session, row, shard, "log", texts.last_attempt)
        if (texts.tags !== undefined) await setTags(session, row, shard, texts.tags)
      } finally {
        await session.close()
      }
    })
  return {
    damage: (row, texts) => set(row, texts),
    repair: (row) =>
      set(row, {
        spec: textOfSpec(row.spec),
        last_attempt: row.attemptLog === undefined ? null : textOfLog(row.attemptLog),
        tags: row.tags === undefined ? null : JSON.stringify(row.tags),
      }),
  }
}

const setBody = async (
  session: Session,
  row: Timer | FinishedLife,
  shard: number,
  column: "spec" | "log",
  text: string | null,
) => {
  const { part, text: packed } = await rowIn(session, row, shard)
  await session.rows(
    `UPDATE bodies SET ${column} = ? WHERE store = ? AND uuid = ? AND part = ? AND stamp = ?`,
    [text, session.store, uuidBytes(row.uuid), part, bodyAt(packed)],
  )
}

const whereRow = "WHERE store = ? AND shard = ? AND kind = ? AND place = ?"

const rowIn = async (session: Session, row: Timer | FinishedLife, shard: number) => {
  const isPending = "fireAt" in row
  const [kind, column, part] = isPending
    ? [kinds.key, "timer", parts.timer]
    : [kinds.life, "life", parts.life]
  const key = [session.store, shard, kind, isPending ? keyPlace(row) : lifePlace(row)]
  const [found] = await session.rows(`SELECT ${column} AS text FROM shards ${whereRow}`, key)
  return { key, column, part, text: String(found?.["text"]) }
}

const setTags = async (session: Session, row: Timer | FinishedLife, shard: number, tags: string | null) => {
  const { key, column, text } = await rowIn(session, row, shard)
  const fields = JSON.parse(text) as Record<string, unknown>
  if (tags === null) delete fields["tags"]
  else fields["tags"] = tags
  await session.batch(
    [
      {
        query: `UPDATE shards SET ${column} = ? ${whereRow} IF EXISTS`,
        params: [JSON.stringify(fields), ...key],
      },
    ],
    { isConditional: true },
  )
}
