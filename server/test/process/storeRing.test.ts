// Moves a store from one database to the next, with the commands that operators run, until it is back in a file. So each
// database is once the source and once the target, and the archive must be the same at every station.
import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { CassandraClusterStore } from "../../testkit/CassandraClusterStore.ts"
import type { ClusterStore, ClusterStoreKind } from "../../testkit/ClusterStore.ts"
import { DynamoClusterStore } from "../../testkit/DynamoClusterStore.ts"
import { describeNeeding } from "../../testkit/describeUnless.ts"
import { MongodbClusterStore } from "../../testkit/MongodbClusterStore.ts"
import { MysqlClusterStore } from "../../testkit/MysqlClusterStore.ts"
import { PostgresClusterStore } from "../../testkit/PostgresClusterStore.ts"
import { fromSource } from "../../testkit/ServiceProcess.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"

const kinds: ReadonlyArray<ClusterStoreKind> = [
  PostgresClusterStore.kind,
  MysqlClusterStore.kind("mysql"),
  MysqlClusterStore.kind("mariadb"),
  MongodbClusterStore.kind,
  CassandraClusterStore.kind,
  DynamoClusterStore.kind,
]

/** A store of an earlier program, with timers, history, dead letters and settings. */
const oldFile = join(import.meta.dirname, "../stores/fixtures/sqlite-v4.db.gz")

/** A place for a store, as the settings name it. */
interface Station {
  readonly title: string
  readonly settings: Readonly<Record<string, string>>
}

const fileIn = (folder: string, name: string): Station => ({
  title: name,
  settings: { TIMER_STORE_URL: `sqlite:${join(folder, name)}` },
})

const stationOf = (title: string, store: ClusterStore): Station => ({
  title,
  settings: {
    TIMER_STORE_URL: store.urlThrough(`${store.host}:${store.port}`),
    TIMER_SHARDS: String(store.shards),
  },
})

/** Runs a command of the service with this text on its stdin. */
const command = async ({ title, settings }: Station, name: string, input = ""): Promise<string> => {
  const child = spawn(fromSource.command, [...fromSource.args, name], {
    env: { ...process.env, ...settings },
    stdio: ["pipe", "pipe", "pipe"],
  })
  const [out, err]: [Array<Buffer>, Array<Buffer>] = [[], []]
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk))
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk))
  child.stdin.end(input)
  const [code] = await once(child, "close")
  expect([title, name, code, Buffer.concat(err).toString()]).toEqual([title, name, 0, expect.anything()])
  return Buffer.concat(out).toString()
}

/** Archives of different databases have the same lines. Only lives of the same instant, and fields, may change places. */
const linesOf = (archive: string): ReadonlyMap<string, unknown> =>
  new Map(
    archive
      .trim()
      .split("\n")
      .map((line) => {
        const fields = JSON.parse(line) as Readonly<Record<string, unknown>>
        const { kind, namespace, timerId, fireId } = fields
        return [[kind, namespace, timerId, fireId].join(" "), fields] as const
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

const missing = kinds.find((kind) => kind.missing !== undefined)?.missing

describeNeeding(missing, "a store that moves from database to database", () => {
  test("is the same everywhere, and every database passes its examination", async () => {
    await using stack = new AsyncDisposableStack()
    const { path } = stack.use(new TemporaryFolder())
    writeFileSync(join(path, "first.db"), gunzipSync(readFileSync(oldFile)))
    const first = fileIn(path, "first.db")
    expect(await command(first, "migrate")).toContain("had schema version 4")
    let archive = await command(first, "export")
    const expected = linesOf(archive)
    expect(expected.size).toBeGreaterThan(20)
    const starting = kinds.map(async ({ title, start }) => stationOf(title, stack.use(await start())))
    for (const ready of [...starting, Promise.resolve(fileIn(path, "last.db"))]) {
      const station = await ready
      await command(station, "import", archive)
      const [exported, examined, migrated] = await Promise.all(
        ["export", "doctor", "migrate"].map((name) => command(station, name)),
      )
      archive = exported ?? ""
      expect([station.title, linesOf(archive)]).toEqual([station.title, expected])
      expect(examined).toContain("The store has no problems.")
      // The import has created the schema of this program.
      expect([station.title, migrated]).toEqual([station.title, expect.stringContaining("nothing to do")])
    }
  }, 420_000)
})
