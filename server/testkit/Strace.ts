// A disk that fails. The service runs under strace, which makes chosen system calls on one file fail as the kernel
// would. This works for root and for other users. The variable STRACE names strace, or it is installed, or the tests
// fetch it once into the cache of the user. On a machine without strace, or where tracing is forbidden, the tests
// fail in CI. Elsewhere they are skipped with a reason.
import { spawnSync } from "node:child_process"
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs"
import { delimiter, join } from "node:path"
import { librariesBelow, unpackDebian } from "./DebianPackages.ts"
import { describeNeeding } from "./describeUnless.ts"
import { fetchedFolder } from "./fetchedFolder.ts"
import { fromSource, type Program } from "./ServiceProcess.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface Fault {
  readonly call: "fsync" | "pwrite64" | "openat"
  readonly error: "EIO" | "ENOSPC" | "EROFS"
  readonly file: string
  /** Which of a thread's calls on the file fail: `"60"` is the 60th, `"60+"` is every call from the 60th on. */
  readonly when: string
}

interface Strace {
  readonly command: string
  /** Where its libraries are, if it was fetched. */
  readonly libraries?: string
}

type Found = Strace | { readonly missing: string }

/** The tests that need a failing disk. Where that is not possible, they are skipped by name, or fail in CI. */
export const describeFaults = (name: string, body: () => void): void => {
  const strace = usableStrace()
  describeNeeding("missing" in strace ? strace.missing : undefined, name, body)
}

/**
 * The service from its sources with a disk that fails in this way. `traces` is a folder for the recorded calls on the
 * file.
 */
export const failingDisk = ({ call, error, file, when }: Fault, traces: string): Program => {
  const { command, environment } = tracer()
  const calls = [...new Set(["fsync", "pwrite64", call])].join(",")
  const inject = ["-P", file, "-e", `trace=${calls}`, "-e", `inject=${call}:error=${error}:when=${when}`]
  return {
    command,
    args: [...tracing, "-o", join(traces, "thread"), ...inject, fromSource.command, ...fromSource.args],
    environment,
  }
}

/** strace itself, for tests inside `describeFaults`. */
export const tracer = (): {
  readonly command: string
  readonly environment: Readonly<Record<string, string>>
} => {
  const strace = usableStrace()
  if ("missing" in strace) throw new Error(strace.missing)
  return {
    command: strace.command,
    environment: { PATH: process.env["PATH"] ?? "", ...librariesOf(strace) },
  }
}

// With -D the tracer is not the service's parent, so signals and the exit code are the service's own. With -ff each
// thread has its own trace, so no line is split.
const tracing = ["-D", "-ff", "--seccomp-bpf", "-qq", "-s", "0"]

/**
 * Overwrites with zeros everything that was written to the file after its last successful fsync, as if the machine had
 * lost its power.
 */
export const loseUnsynced = (file: string, traces: string): number => {
  const descriptor = openSync(file, "r+")
  try {
    const unsynced = unsyncedWrites(traces)
    for (const { offset, bytes } of unsynced) writeSync(descriptor, Buffer.alloc(bytes), 0, bytes, offset)
    return unsynced.length
  } finally {
    closeSync(descriptor)
  }
}

/** One thread writes. The other threads leave nothing in the traces. */
const unsyncedWrites = (
  traces: string,
): ReadonlyArray<{ readonly offset: number; readonly bytes: number }> => {
  let unsynced: Array<{ offset: number; bytes: number }> = []
  for (const trace of readdirSync(traces)) {
    for (const line of readFileSync(join(traces, trace), "utf8").split("\n")) {
      const [, offset, bytes] = /^pwrite64\(.*, (\d+)\) += (\d+)$/.exec(line) ?? []
      if (offset !== undefined) unsynced.push({ offset: Number(offset), bytes: Number(bytes) })
      else if (/^fsync\(\d+\) += 0$/.test(line)) unsynced = []
    }
  }
  return unsynced
}

let usable: Found | undefined

const usableStrace = (): Found => {
  usable ??= locate()
  return usable
}

const locate = (): Found => {
  const named = process.env["STRACE"]
  const found: Strace | undefined =
    named !== undefined && named !== "" ? { command: named } : (installed() ?? fetched())
  if (found === undefined) {
    return { missing: "no strace: install it, name it by STRACE, or allow apt-get to fetch it" }
  }
  return canInject(found) ? found : { missing: "strace may not trace here: allow ptrace to this user" }
}

const installed = (): Strace | undefined => {
  const command = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "strace"))
    .find((path) => existsSync(path))
  return command === undefined ? undefined : { command }
}

const fetched = (): Strace | undefined => {
  const folder = fetchedFolder({
    name: "strace",
    fill: (folder) =>
      unpackDebian(["strace", "libunwind8"], folder, "The tests of a failing disk need strace"),
  })
  return folder === undefined
    ? undefined
    : { command: join(folder, "usr", "bin", "strace"), libraries: librariesBelow(folder) }
}

/** Whether a sync that should fail does fail. */
const canInject = (strace: Strace): boolean => {
  using folder = new TemporaryFolder()
  const inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "-o", join(folder.path, "trace")]
  const { status, stderr } = spawnSync(strace.command, [...tracing, ...inject, "sync", folder.path], {
    env: { PATH: process.env["PATH"] ?? "", ...librariesOf(strace) },
    encoding: "utf8",
    timeout: 10_000,
  })
  return status === 1 && stderr.includes(folder.path)
}

const librariesOf = ({ libraries }: Strace): Readonly<Record<string, string>> =>
  libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }
