// The environment of a measurement: machine, disk, versions, scale. Without it another reader cannot interpret a table.
import { Database } from "bun:sqlite"
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs"
import { cpus, release, totalmem, type } from "node:os"
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { medianOf, type Scale } from "./Benchmark.ts"
import { type ServerName, serverState, serverTitle } from "./Servers.ts"

const fsyncs = 200
const fsyncBytes = 4_096

export interface Surroundings extends Scale {
  readonly at: string
  readonly machine: string
  readonly system: string
  /** The median time of a small write with an fsync, on the disk of the stores' files. */
  readonly fsyncMs: number
  readonly versions: Readonly<Record<string, string>>
}

export const surroundings = (scale: Scale, servers: ReadonlyArray<ServerName>): Surroundings => ({
  at: new Date().toISOString(),
  machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  system: `${osName()}, ${type()} ${release()}`,
  fsyncMs: measureFsyncMs(),
  versions: {
    Punctual: String(packageFile("../../package.json")["version"]),
    Bun: Bun.version,
    SQLite: sqliteVersion(),
    ...Object.fromEntries(
      servers.flatMap((name) => {
        const state = serverState(name)
        return "version" in state ? [[serverTitle[name], state.version]] : []
      }),
    ),
    ...(scale.withPeers ? peerVersions() : {}),
  },
  ...scale,
})

/** The text above the tables. */
export const surroundingsText = ({ machine, system, fsyncMs, versions, at, rounds }: Surroundings): string =>
  [
    `- machine: ${machine}; ${system}`,
    `- disk: an fsync of 4 KiB takes ${fsyncMs.toFixed(2)} ms (median of ${fsyncs}, on the disk of the stores' files)`,
    `- versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}`,
    `- ${at}, ${rounds} round${rounds === 1 ? "" : "s"}, each side once per round; median (lowest to highest)`,
  ].join("\n")

const osName = (): string => {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform
  } catch {
    return process.platform
  }
}

const measureFsyncMs = (): number => {
  using folder = new TemporaryFolder()
  const file = openSync(join(folder.path, "fsync"), "w")
  const bytes = Buffer.alloc(fsyncBytes, 1)
  try {
    return medianOf(
      Array.from({ length: fsyncs }, () => {
        writeSync(file, bytes)
        const startedAt = performance.now()
        fsyncSync(file)
        return performance.now() - startedAt
      }),
    )
  } finally {
    closeSync(file)
  }
}

const sqliteVersion = (): string => {
  const memory = new Database(":memory:")
  try {
    return String(memory.query("SELECT sqlite_version()").values()[0]?.[0])
  } finally {
    memory.close()
  }
}

const packageFile = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))

const peerVersions = (): Readonly<Record<string, string>> => {
  const {
    bullmq = "",
    bunqueue = "",
    ...others
  } = packageFile("../peers/package.json")["dependencies"] as Readonly<Record<string, string>>
  return { BullMQ: bullmq, bunqueue, ...others }
}
