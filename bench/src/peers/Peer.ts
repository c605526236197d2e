// The systems that Punctual is compared with. Each runs its work in a process of its own, from bench/peers, on a fresh
// place to keep its jobs in; nothing of them is installed unless they are asked for.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PostgresServer } from "@punctual/server/testkit/PostgresServer"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { RedisServer } from "./RedisServer.ts"

/** What peers and Punctual are both given to do. */
export type Work =
  | { readonly work: "creates"; readonly timers: number; readonly callers: number }
  | { readonly work: "burst"; readonly timers: number; readonly leadMs: number }
  | {
      readonly work: "paced"
      readonly perSecond: number
      readonly seconds: number
      readonly pending: number
      readonly leadMs: number
    }

export interface Result {
  readonly perSecond?: number
  readonly latenessMs?: ReadonlyArray<number>
}

export interface Peer {
  readonly name: string
  /** What an answered create survives, and the settings that matter. */
  readonly terms: string
  run(work: Work): Promise<Result>
}

const folder = fileURLToPath(new URL("../../peers/", import.meta.url))
const bun = process.execPath

/** Bounds one piece of work of a peer, its preparation included. */
const runWithinMs = 900_000

const inChild = async (system: string, place: string, work: Work): Promise<Result> => {
  const child = Bun.spawn([bun, join(folder, "main.mjs"), system, place, JSON.stringify(work)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: runWithinMs,
  })
  const [answer, remarks] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) {
    throw new Error(`${system} failed (${child.signalCode ?? child.exitCode}): ${remarks.trim().slice(-500)}`)
  }
  return JSON.parse(answer) as Result
}

const onRedis = (name: string, terms: string, appendfsync: "everysec" | "always"): Peer => ({
  name,
  terms,
  run: async (work) => {
    await using server = await RedisServer.start({ appendfsync })
    return await inChild("bullmq-redis", server.url, work)
  },
})

const onPostgres = (system: string, name: string, terms: string): Peer => ({
  name,
  terms,
  run: async (work) => {
    await using server = await PostgresServer.start("installed", { settings: { autovacuum_naptime: "10s" } })
    return await inChild(system, server.url, work)
  },
})

export const peers: ReadonlyArray<Peer> = [
  onRedis("BullMQ, Redis everysec", "loses up to a second at a crash of the server", "everysec"),
  onRedis("BullMQ, Redis always", "on the disk: appendfsync always", "always"),
  onPostgres("bullmq-postgres", "BullMQ, PostgreSQL", "on the disk"),
  onPostgres(
    "pg-boss",
    "pg-boss",
    "on the disk; polls every 0.5 s, its least, and goes on while batches are full",
  ),
  onPostgres(
    "graphile-worker",
    "graphile-worker",
    "on the disk; polls every 100 ms, fetches 500 at once, completes in batches",
  ),
  {
    name: "bunqueue",
    terms: "on the disk: durable",
    run: async (work) => {
      using place = new TemporaryFolder()
      return await inChild("bunqueue", join(place.path, "bunqueue.db"), work)
    },
  },
]

/** Installs them once, as their lock file has them. */
export const installPeers = async (progress: (message: string) => void): Promise<void> => {
  if (existsSync(join(folder, "node_modules", "bullmq"))) return
  progress("installing the peers (bench/peers) …")
  const npm = Bun.spawn(["npm", "ci", "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 300_000,
  })
  if ((await npm.exited) !== 0)
    throw new Error("the peers could not be installed: npm ci in bench/peers failed")
}
