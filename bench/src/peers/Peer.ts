// The systems that Punctual is compared with. Each runs its work in a separate process, from bench/peers, on new and
// empty storage. They are installed only if the run includes them.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { natsBinaryWithSchedules } from "@punctual/bus/testkit/NatsBinary"
import { NatsServer } from "@punctual/bus/testkit/NatsServer"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { postgresTerms, startPostgres } from "../BenchPostgres.ts"
import type { ServerName } from "../Servers.ts"
import { inChild } from "./inChild.ts"
import { RedisServer } from "./RedisServer.ts"
import type { Result, Work } from "./works.ts"

export type { Result, Work } from "./works.ts"

export interface Peer {
  readonly name: string
  /** How durable an answered create is, and the settings that matter. */
  readonly terms: string
  /** Whether an answered create survives a power failure, as Punctual's does. */
  readonly isOnDisk: boolean
  readonly needs: ReadonlyArray<ServerName>
  run(work: Work): Promise<Result>
}

const folder = fileURLToPath(new URL("../../peers/", import.meta.url))
const script = join(folder, "main.mjs")

const onRedis = (name: string, terms: string, appendfsync: "everysec" | "always"): Peer => ({
  name,
  terms: `${terms}, hz 100; one worker, 200 at once`,
  isOnDisk: appendfsync === "always",
  needs: ["redis"],
  run: async (work) => {
    await using server = await RedisServer.start({ appendfsync })
    return await inChild([script, "bullmq-redis", server.url], work)
  },
})

const onPostgres = (system: string, name: string, settings: string): Peer => ({
  name,
  terms: `${postgresTerms}; ${settings}`,
  isOnDisk: true,
  needs: ["postgres"],
  run: async (work) => {
    await using server = await startPostgres()
    return await inChild([script, system, server.url], work)
  },
})

const onNats = (name: string, terms: string, syncsAlways: boolean): Peer => ({
  name,
  terms: `${terms}; one stream, a message for each timer; one consumer`,
  isOnDisk: syncsAlways,
  needs: ["natsSchedules"],
  run: async (work) => {
    await using server = await NatsServer.start({ binary: natsBinaryWithSchedules(), syncsAlways })
    return await inChild([script, "nats-schedules", server.url], work)
  },
})

export const peers: ReadonlyArray<Peer> = [
  onRedis(
    "BullMQ, Redis everysec",
    "a power failure loses up to a second: AOF, appendfsync everysec",
    "everysec",
  ),
  onRedis("BullMQ, Redis always", "on disk: AOF, appendfsync always", "always"),
  onPostgres("bullmq-postgres", "BullMQ, PostgreSQL", "one worker, 200 at once"),
  onPostgres(
    "pg-boss",
    "pg-boss",
    "10 workers in turns; each polls every 0.5 s (the minimum) and continues while batches of 1,000 are full",
  ),
  onPostgres(
    "graphile-worker",
    "graphile-worker",
    "polls every 10 ms, 24 at once, fetches 500 at a time, completes in batches",
  ),
  {
    name: "bunqueue",
    terms:
      "a power failure loses the latest: durable: true, but synchronous NORMAL; polls every 1 ms, 200 at once",
    isOnDisk: false,
    needs: [],
    run: async (work) => {
      using place = new TemporaryFolder()
      return await inChild([script, "bunqueue", join(place.path, "bunqueue.db")], work)
    },
  },
  onNats("NATS schedules", "a power failure loses up to two minutes: the default sync_interval", false),
  onNats("NATS schedules, always synced", "on disk: sync_interval always", true),
]

/** Installs the peers once, with the versions of their lock file. */
export const installPeers = async (
  progress: (message: string) => void,
  into: string = folder,
): Promise<void> => {
  if (existsSync(join(into, "node_modules", "bullmq"))) return
  progress("installing the peers (bench/peers) …")
  // Unlike npm ci, this accepts that the registry lacks optional packages of other platforms. It keeps to the lock file.
  const npm = Bun.spawn(["npm", "install", "--no-save", "--no-audit", "--no-fund"], {
    cwd: into,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 300_000,
  })
  if ((await npm.exited) !== 0)
    throw new Error("the peers could not be installed: npm install in bench/peers failed")
}
