// FerretDB for the tests of the MongoDB store, because no MongoDB server can be fetched freely: FerretDB 2, built by Go,
// on PostgreSQL 18 with the extension DocumentDB, from Debian's newest suite. All parts are kept in the cache folder of
// the user.
import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, readdirSync, rmSync } from "node:fs"
import { delimiter, join } from "node:path"
import { unpackDebian } from "./DebianPackages.ts"
import { debianSuite } from "./DebianSuite.ts"
import { describeNeeding } from "./describeUnless.ts"
import { fetchedFolder } from "./fetchedFolder.ts"
import { goProgram } from "./GoTools.ts"
import type { ServerProgram } from "./ServerProcess.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export type FerretBinaries =
  | {
      readonly ferretdb: string
      /** Programs of PostgreSQL. */
      postgres(program: string, args: ReadonlyArray<string>): ServerProgram
      /** Copies an initialised data folder of PostgreSQL, with the extension, to this path. */
      copyData(path: string): void
    }
  | { readonly missing: string }

const goModule = "github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0"

let found: FerretBinaries | undefined

/** Searched once. If it must be fetched and built, the first call takes several minutes. */
export const ferretBinaries = (): FerretBinaries => {
  found ??= locate()
  return found
}

/** Defines tests that need the server. Without it they are skipped by name, or fail in CI. */
export const describeFerret = (name: string, body: () => void): void => {
  const binaries = ferretBinaries()
  describeNeeding("missing" in binaries ? binaries.missing : undefined, name, body)
}

const locate = (): FerretBinaries => {
  const suite = debianSuite({
    title: "PostgreSQL with DocumentDB",
    name: "documentdb-1",
    suite: "sid",
    packages: ["postgresql-18", "postgresql-18-documentdb"],
    finish: isPatched,
  })
  if ("missing" in suite) return suite
  const ferretdb = goProgram({ name: "ferretdb", from: goModule })
  if (ferretdb === undefined)
    return { missing: "no FerretDB: install Go 1.25 or newer, and allow it to fetch" }
  const postgres = (program: string, args: ReadonlyArray<string>) => programOf(suite.folder, program, args)
  const data = fetchedFolder({
    name: "documentdb-data-1",
    fill: (into) => isInitialised(postgres, join(into, "data")),
  })
  if (data === undefined)
    return { missing: "PostgreSQL with DocumentDB from Debian's packages does not start" }
  return {
    ferretdb,
    postgres,
    copyData: (path) => cpSync(join(data, "data"), path, { recursive: true }),
  }
}

/**
 * The server starts its own programs, so it cannot be started with the loader of its suite. Instead its programs name
 * this loader and the libraries. The paths are those of the folder's final name.
 */
const isPatched = (folder: string): boolean => {
  using work = new TemporaryFolder()
  const tool = join(work.path, "patchelf")
  if (!unpackDebian(["patchelf"], tool, "The tests need patchelf")) return false
  const home = folder.replace(/\.partial$/, "")
  const libraries = join(home, "usr/lib/x86_64-linux-gnu")
  const own = "usr/lib/postgresql/18"
  const paths = [
    libraries,
    `${libraries}/blas`,
    `${libraries}/lapack`,
    join(home, "usr/lib"),
    join(home, own, "lib"),
  ]
  const patch = (...args: ReadonlyArray<string>) => execFileSync(join(tool, "usr/bin/patchelf"), args)
  const loader = join(libraries, "ld-linux-x86-64.so.2")
  for (const program of ["postgres", "initdb", "psql"]) {
    const file = join(folder, own, "bin", program)
    patch("--set-interpreter", loader, "--force-rpath", "--set-rpath", paths.join(delimiter), file)
  }
  // Their own paths would hide the ones above.
  const modules = join(folder, own, "lib")
  for (const name of readdirSync(modules)) {
    if (name.endsWith(".so")) patch("--remove-rpath", join(modules, name))
  }
  const extensions = join(folder, "usr/share/postgresql/18/extension")
  copyFileSync(join(extensions, "postgis-3.control"), join(extensions, "postgis.control"))
  return true
}

/**
 * PostgreSQL refuses to run as root. In a user namespace without a mapping it sees another user, and still can enter
 * root's folders.
 */
const programOf = (folder: string, program: string, args: ReadonlyArray<string>): ServerProgram => {
  const file = join(folder, "usr/lib/postgresql/18/bin", program)
  const env = { PROJ_DATA: join(folder, "usr/share/proj"), GDAL_DATA: join(folder, "usr/share/gdal") }
  return process.getuid?.() === 0
    ? { command: "unshare", args: ["--user", file, ...args], env }
    : { command: file, args, env }
}

export const postgresArgs = (data: string, sockets: string, port: number): ReadonlyArray<string> => {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: sockets,
    shared_buffers: "128MB",
    // Tests kill processes, never the machine, so nothing that was written is lost. But a kill can end a write in the middle
    // of a page, so PostgreSQL must be able to repair it.
    fsync: "off",
    full_page_writes: "on",
    max_connections: "100",
    shared_preload_libraries: "pg_cron,pg_documentdb_core,pg_documentdb",
    "cron.database_name": "postgres",
    "cron.host": "127.0.0.1",
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  return ["-D", data, "-p", String(port), ...flags]
}

const isInitialised = (
  postgres: (name: string, args: ReadonlyArray<string>) => ServerProgram,
  data: string,
) => {
  const run = (name: string, args: ReadonlyArray<string>, input = "") => {
    const { command, args: all, env } = postgres(name, args)
    execFileSync(command, all, {
      env: { ...process.env, ...env },
      input,
      stdio: ["pipe", "ignore", "inherit"],
    })
  }
  try {
    run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"])
    // Without a listening server: the single-user mode creates the extension.
    const [, , ...flags] = postgresArgs(data, data, 5432)
    run(
      "postgres",
      ["--single", "-D", data, ...flags.slice(2), "postgres"],
      "CREATE EXTENSION documentdb CASCADE\n",
    )
    rmSync(join(data, "postmaster.pid"), { force: true })
    return true
  } catch (error) {
    process.stderr.write(`That failed: ${error instanceof Error ? error.message : String(error)}\n`)
    return false
  }
}
