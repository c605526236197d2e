// Punctual and its peers as processes that are killed while timers are due. Their servers keep running. A system without
// a server keeps its jobs on its own disk.
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { startPostgres } from "../BenchPostgres.ts"
import { newPlace } from "../EngineOnDisk.ts"
import { type Killed, type KillTerms, killAndRestart } from "../kill/killAndRestart.ts"
import { RedisServer } from "./RedisServer.ts"

type Opener = (stack: AsyncDisposableStack) => Promise<ReadonlyArray<string>>

const punctualScript = fileURLToPath(new URL("../kill/punctualChild.ts", import.meta.url))
const peerScript = fileURLToPath(new URL("../../peers/afterKill.mjs", import.meta.url))

const onRedis =
  (appendfsync: "everysec" | "always"): Opener =>
  async (stack) => {
    const server = stack.use(await RedisServer.start({ appendfsync }))
    return [peerScript, "bullmq-redis", server.url]
  }

const onPostgres =
  (system: string): Opener =>
  async (stack) => [peerScript, system, stack.use(await startPostgres()).url]

/** Opens each system, by its name in the tables, on new storage. The stack removes the storage. */
const openers: Readonly<Record<string, Opener>> = {
  "Punctual, SQLite": async (stack) => [punctualScript, "sqlite", await newPlace("sqlite", stack)],
  "Punctual, PostgreSQL": async (stack) => [punctualScript, "postgres", await newPlace("postgres", stack)],
  "BullMQ, Redis everysec": onRedis("everysec"),
  "BullMQ, Redis always": onRedis("always"),
  "BullMQ, PostgreSQL": onPostgres("bullmq-postgres"),
  "pg-boss": onPostgres("pg-boss"),
  "graphile-worker": onPostgres("graphile-worker"),
  bunqueue: async (stack) => [
    peerScript,
    "bunqueue",
    join(stack.use(new TemporaryFolder()).path, "bunqueue.db"),
  ],
}

/** Most systems create their timers within the first time. A slower system gets new storage and ten times as long. */
const leadsMsEach = [0.1, 1]

export const afterKill = async (name: string, terms: KillTerms): Promise<Killed> => {
  const open = openers[name]
  if (open === undefined) throw new Error(`bench/src/peers/afterKill.ts does not know how to kill ${name}`)
  for (const leadMsEach of leadsMsEach) {
    await using stack = new AsyncDisposableStack()
    const killed = await killAndRestart(await open(stack), terms, leadMsEach)
    if (killed !== undefined) return killed
  }
  throw new Error("the system could not create all timers before the first was due")
}
