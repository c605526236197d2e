// A system that takes calls over HTTP and makes them: the Service Agent, in one process with its Timer, or the same work
// on a job queue.
import { AgentProcess } from "@punctual/agent/testkit/AgentProcess"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { postgresTerms, startPostgres } from "../BenchPostgres.ts"
import { ChildServer } from "../ChildServer.ts"
import { RedisServer } from "../peers/RedisServer.ts"
import type { ServerName } from "../Servers.ts"

export interface CallMaker {
  readonly name: string
  /** How durable an accepted call is. */
  readonly terms: string
  readonly needs: ReadonlyArray<ServerName>
  readonly isPeer: boolean
  /** Starts it on new and empty storage. The stack ends it. Returns the root of its HTTP server. */
  start(stack: AsyncDisposableStack): Promise<string>
}

const agentOn = (
  name: string,
  terms: string,
  needs: ReadonlyArray<ServerName>,
  settingsOf: (stack: AsyncDisposableStack) => Promise<Readonly<Record<string, string>>>,
): CallMaker => ({
  name: `Service Agent, ${name}`,
  terms,
  needs,
  isPeer: false,
  start: async (stack) => {
    const { path: folder } = stack.use(new TemporaryFolder())
    const settings = { TIMER_LOG: "error", ...(await settingsOf(stack)) }
    return stack.use(await AgentProcess.open({ folder, settings })).url
  },
})

const queueScript = new URL("../../peers/callQueue.mjs", import.meta.url)

const bullOn = (appendfsync: "everysec" | "always", terms: string): CallMaker => ({
  name: `BullMQ, Redis ${appendfsync}`,
  terms,
  needs: ["redis"],
  isPeer: true,
  start: async (stack) => {
    const redis = stack.use(await RedisServer.start({ appendfsync }))
    return stack.use(await ChildServer.start(queueScript, redis.url)).url
  },
})

export const agentOnSqlite = agentOn("SQLite", "on disk: WAL, synchronous FULL", [], async () => ({}))

export const bullAlwaysSynced = bullOn("always", "on disk: AOF, appendfsync always")

export const callMakers: ReadonlyArray<CallMaker> = [
  agentOnSqlite,
  agentOn("PostgreSQL", postgresTerms, ["postgres"], async (stack) => {
    const server = stack.use(await startPostgres())
    return {
      TIMER_STORE_URL: server.database().url,
      TIMER_CLUSTER_SECRET: "a-secret-that-only-the-benchmark-knows",
      AGENT_STORE_URL: server.database().url,
      AGENT_SECRET_KEY: "ab".repeat(32),
    }
  }),
  bullOn("everysec", "a power failure loses up to a second: AOF, appendfsync everysec"),
  bullAlwaysSynced,
]
