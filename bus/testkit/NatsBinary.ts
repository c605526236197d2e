// Finds a real nats-server for the tests: the one named by NATS_SERVER, one installed on the machine, or one fetched
// once into the cache of the user. A test of the adapter against anything but the real broker would prove little.
// So without a nats-server the tests fail in CI, and are skipped with a reason elsewhere.
import { execFileSync } from "node:child_process"
import { accessSync, chmodSync, constants, copyFileSync, statSync } from "node:fs"
import { delimiter, join } from "node:path"
import { unpackDebian } from "@punctual/server/testkit/DebianPackages"
import { describeNeeding } from "@punctual/server/testkit/describeUnless"
import { fetchedFolder } from "@punctual/server/testkit/fetchedFolder"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"

export type NatsBinary = { readonly path: string } | { readonly missing: string }

const program = "nats-server"
const goVersion = "2.15.2"
const goModule = `github.com/nats-io/nats-server/v2@v${goVersion}`
const fetchWithinMs = 300_000

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

/** A server that can publish messages at a given time. Debian's is too old for that, so Go builds it. */
export const natsBinaryWithSchedules = (): NatsBinary => {
  const folder = fetchedFolder({ name: `nats-server-${goVersion}`, fill: fromGo })
  return folder === undefined
    ? { missing: `no nats-server ${goVersion}: it is built by go, which is missing or failed` }
    : { path: join(folder, program) }
}

const locate = (): NatsBinary => {
  const named = process.env["NATS_SERVER"]
  if (named !== undefined && named !== "") {
    return isExecutable(named)
      ? { path: named }
      : { missing: `NATS_SERVER=${named} is not an executable file` }
  }
  const path = installed() ?? fetched()
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
    .map((folder) => join(folder, program))
    .find(isExecutable)

const fetched = (): string | undefined => {
  const folder = fetchedFolder({
    name: "nats-server",
    fill: (folder) => fromDebian(folder) || fromGo(folder),
  })
  return folder === undefined ? undefined : join(folder, program)
}

const fromDebian = (folder: string): boolean => {
  using temporary = new TemporaryFolder()
  const unpacked = join(temporary.path, "unpacked")
  if (!unpackDebian(["nats-server"], unpacked, "The tests need a nats-server")) return false
  copyFileSync(join(unpacked, "usr/sbin/nats-server"), join(folder, program))
  chmodSync(join(folder, program), 0o755)
  return true
}

const fromGo = (folder: string): boolean => succeeds("go", ["install", goModule], folder, { GOBIN: folder })

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
