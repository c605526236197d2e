// Finds a real nats-server for the tests: the one named by NATS_SERVER, one installed on the machine, or one fetched
// once into a cache below node_modules. A test of the adapter against anything but the real broker would prove little.
// So without a nats-server the tests fail in CI, and are skipped with a reason elsewhere.
import { execFileSync } from "node:child_process"
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { unpackDebian } from "@punctual/server/testkit/DebianPackages"
import { describeNeeding } from "@punctual/server/testkit/describeUnless"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"

export type NatsBinary = { readonly path: string } | { readonly missing: string }

const cacheFolder = fileURLToPath(new URL("../../node_modules/.cache/punctual", import.meta.url))
const goModule = "github.com/nats-io/nats-server/v2@v2.15.2"
const fetchWithinMs = 300_000
const askEveryMs = 200

/** Defines tests that need a broker. Without one they are skipped by name, or fail in CI. */
export const describeNats = (name: string, body: () => void): void => {
  const binary = natsBinary()
  describeNeeding("missing" in binary ? binary.missing : undefined, name, body)
}

let found: NatsBinary | undefined

/** Searched once. If it must be fetched, the first call can take a minute. */
export const natsBinary = (): NatsBinary => {
  found ??= locate()
  return found
}

const locate = (): NatsBinary => {
  const named = process.env["NATS_SERVER"]
  if (named !== undefined && named !== "") {
    return isExecutable(named)
      ? { path: named }
      : { missing: `NATS_SERVER=${named} is not an executable file` }
  }
  const path = installed() ?? cached() ?? fetched()
  return path === undefined
    ? {
        missing:
          "no nats-server: install one, set NATS_SERVER to its path, or allow apt-get or go to fetch it",
      }
    : { path }
}

const installed = (): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"]
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "nats-server"))
    .find(isExecutable)

const cached = (): string | undefined => {
  try {
    return readdirSync(cacheFolder)
      .filter((file) => /^nats-server[^/]*$/.test(file))
      .map((file) => join(cacheFolder, file))
      .find(isExecutable)
  } catch {
    return undefined
  }
}

/** One process fetches the binary. The others wait until it is in the cache. */
const fetched = (): string | undefined => {
  mkdirSync(cacheFolder, { recursive: true })
  const lock = join(cacheFolder, "fetching")
  const deadline = performance.now() + fetchWithinMs
  while (!isLockTaken(lock)) {
    const path = cached()
    if (path !== undefined) return path
    if (performance.now() > deadline) return undefined
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, askEveryMs)
  }
  try {
    return cached() ?? fromDebian() ?? fromGo()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/**
 * A folder can be created only once, so it works as a lock. A lock that a killed process left behind is taken over
 * after a while.
 */
const isLockTaken = (lock: string): boolean => {
  try {
    mkdirSync(lock)
    return true
  } catch {
    const ageMs = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (ageMs > fetchWithinMs) rmSync(lock, { recursive: true, force: true })
    return false
  }
}

const fromDebian = (): string | undefined => {
  using folder = new TemporaryFolder()
  const unpacked = join(folder.path, "unpacked")
  if (!unpackDebian(["nats-server"], unpacked, "The tests need a nats-server")) return undefined
  return keep(join(unpacked, "usr/sbin/nats-server"), "nats-server-debian")
}

const fromGo = (): string | undefined => {
  using folder = new TemporaryFolder()
  if (!succeeds("go", ["install", goModule], folder.path, { GOBIN: folder.path })) return undefined
  return keep(join(folder.path, "nats-server"), "nats-server-go")
}

/** Copies the file beside its place and then moves it there, so that nobody finds half a file. */
const keep = (file: string, name: string): string => {
  const path = join(cacheFolder, name)
  const partial = join(cacheFolder, `partial-${process.pid}`)
  copyFileSync(file, partial)
  chmodSync(partial, 0o755)
  renameSync(partial, path)
  return path
}

const succeeds = (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): boolean => {
  process.stderr.write(`The tests need a nats-server: ${command} ${args.join(" ")}\n`)
  try {
    execFileSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: fetchWithinMs,
    })
    return true
  } catch {
    process.stderr.write(`That failed: ${command} ${args.join(" ")}\n`)
    return false
  }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
