// The servers that sides of the benchmarks need in addition to their own process: where each was found, or why it is
// missing. If a server is missing, the run skips its sides and continues.
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { kafkaState } from "@punctual/bus/testkit/KafkaServer"
import { type NatsBinary, natsBinary, natsBinaryWithSchedules } from "@punctual/bus/testkit/NatsBinary"
import { rabbitBinaries } from "@punctual/bus/testkit/RabbitBinaries"
import { postgresBinaries } from "@punctual/server/testkit/PostgresBinaries"
import { redisBinary } from "./peers/RedisServer.ts"

export type ServerName = "postgres" | "redis" | "nats" | "natsSchedules" | "rabbitmq" | "kafka"

export type ServerState =
  | { readonly path: string; readonly version: string }
  /** Why the server is missing, and what to do. */
  | { readonly missing: string }

/** The names in tables and messages. */
export const serverTitle: Readonly<Record<ServerName, string>> = {
  postgres: "PostgreSQL",
  redis: "Redis",
  nats: "NATS",
  natsSchedules: "NATS with schedules",
  rabbitmq: "RabbitMQ",
  kafka: "Kafka",
}

/** Looks for the server once, and downloads it if possible. A download may take a minute. */
export const serverState = (name: ServerName): ServerState => {
  const known = states.get(name) ?? look[name]()
  states.set(name, known)
  return known
}

/** Why the run must skip a side that needs these servers; undefined if all of them are there. */
export const whyLeftOut = (needs: ReadonlyArray<ServerName>): string | undefined => {
  for (const name of needs) {
    const state = serverState(name)
    if ("missing" in state) return state.missing
  }
  return undefined
}

const states = new Map<ServerName, ServerState>()

const look: Readonly<Record<ServerName, () => ServerState>> = {
  postgres: () => {
    const binaries = postgresBinaries("installed")
    return "missing" in binaries ? binaries : withVersion(join(binaries.folder, "postgres"))
  },
  redis: () => {
    const binary = redisBinary()
    return "missing" in binary ? binary : withVersion(binary.path, binary.libraries)
  },
  rabbitmq: () => {
    const binaries = rabbitBinaries()
    return "missing" in binaries ? binaries : { path: binaries.scripts, version: binaries.version }
  },
  kafka: kafkaState,
  nats: () => natsState(natsBinary()),
  natsSchedules: () => natsState(natsBinaryWithSchedules()),
}

const natsState = (binary: NatsBinary): ServerState =>
  "missing" in binary ? binary : withVersion(binary.path)

const withVersion = (path: string, libraries = ""): ServerState => {
  try {
    const env = { ...process.env, ...(libraries === "" ? {} : { LD_LIBRARY_PATH: libraries }) }
    const text = execFileSync(path, ["--version"], { encoding: "utf8", env, timeout: 10_000 })
    return { path, version: /\d+(?:\.\d+)+/.exec(text)?.[0] ?? text.trim() }
  } catch (error) {
    return { missing: `${path} does not run: ${error instanceof Error ? error.message : String(error)}` }
  }
}
