// A real server of MySQL, MariaDB or TiDB on a free loopback port. MySQL and MariaDB come from Debian's packages: the
// newest MySQL, and the MariaDB of Debian 12, which is the oldest that the store supports. TiDB must be built first
// (scripts/buildTidb.ts), which takes long. Each test has a database of its own on the server of its file.
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { SQL } from "bun"
import { ownTables } from "../src/stores/mysql/migrations/all.ts"
import type { Certificates } from "./Certificates.ts"
import { debianSuite, suiteCommand } from "./DebianSuite.ts"
import { type ServerPlace, ServerProcess, type ServerProgram } from "./ServerProcess.ts"

export type MysqlFlavour = "mysql" | "mariadb" | "tidb"

export interface MysqlServerOptions {
  /** Further options of MySQL and MariaDB, by name. */
  readonly settings?: Readonly<Record<string, string>>
  /** The server offers TLS with this certificate. */
  readonly tls?: Certificates
}

type MysqlBinaries = { readonly folder: string } | { readonly missing: string }

/** Where scripts/buildTidb.ts puts the server. */
export const tidbFolder = (): string =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "punctual", "servers", "tidb-8.4")

const asRoot = process.getuid?.() === 0 ? ["--user=root"] : []

export const mysqlBinaries = (flavour: MysqlFlavour): MysqlBinaries => {
  if (flavour === "tidb") {
    return existsSync(join(tidbFolder(), "tidb-server"))
      ? { folder: tidbFolder() }
      : { missing: "no TiDB server: build it with `bun scripts/buildTidb.ts`, which takes up to an hour" }
  }
  return debianSuite(
    flavour === "mysql"
      ? {
          title: "MySQL",
          name: "mysql-9-1",
          suite: "sid",
          packages: ["mysql-server-core"],
          finish: isMysqlPrepared,
        }
      : {
          title: "MariaDB",
          name: "mariadb-10.11-1",
          suite: "bookworm",
          packages: ["mariadb-server-core"],
          finish: isMariadbPrepared,
        },
  )
}

/** Makes the first data once. A server gets a copy of it, which starts in a fraction of the time. */
const isMysqlPrepared = (folder: string): boolean => {
  const { command, args } = suiteCommand(folder, "usr/sbin/mysqld")
  const options = [...basics(folder), "--innodb-redo-log-capacity=8M", `--datadir=${join(folder, "data")}`]
  return spawnSync(command, [...args, ...options, "--initialize-insecure"], { stdio: "ignore" }).status === 0
}

const mariadbScripts = [
  "mysql_system_tables.sql",
  "mysql_performance_tables.sql",
  "mysql_system_tables_data.sql",
  "maria_add_gis_sp_bootstrap.sql",
]

const isMariadbPrepared = (folder: string): boolean => {
  // Debian 12 has libraries in two places. The loader looks in one.
  const [old, merged] = ["lib", "usr/lib"].map((path) => join(folder, path, "x86_64-linux-gnu"))
  if (old !== undefined && merged !== undefined && existsSync(old)) {
    cpSync(old, merged, { recursive: true, verbatimSymlinks: true })
  }
  const { command, args } = suiteCommand(folder, "usr/sbin/mariadbd")
  const data = join(folder, "data")
  mkdirSync(join(data, "mysql"), { recursive: true })
  const scripts = mariadbScripts.map((name) => readFileSync(join(folder, "usr/share/mysql", name), "utf8"))
  const input = `USE mysql;\nSET @auth_root_socket = NULL, @skip_auth_anonymous = 1;\n${scripts.join("\n")}`
  const options = [...basics(folder), `--datadir=${data}`, "--innodb-log-file-size=16M", "--bootstrap"]
  return (
    spawnSync(command, [...args, ...options], { input, stdio: ["pipe", "ignore", "inherit"] }).status === 0
  )
}

const basics = (folder: string): ReadonlyArray<string> => [
  "--no-defaults",
  `--basedir=${join(folder, "usr")}`,
  `--lc-messages-dir=${join(folder, "usr/share/mysql")}`,
  `--character-sets-dir=${join(folder, "usr/share/mysql/charsets")}`,
  `--plugin-dir=${join(folder, "usr/lib/mysql/plugin")}`,
  "--secure-file-priv=",
  ...asRoot,
]

/** Where one test keeps its data, separate from all others. */
export interface MysqlDatabase {
  readonly url: string
  readonly name: string
}

const initSql = `CREATE USER IF NOT EXISTS test@'%' IDENTIFIED BY 'secret';
GRANT ALL ON *.* TO test@'%' WITH GRANT OPTION;
`

export class MysqlServer implements AsyncDisposable {
  readonly flavour: MysqlFlavour
  readonly process: ServerProcess
  readonly #free: Array<string> = []
  #databases = 0

  private constructor(flavour: MysqlFlavour, process: ServerProcess) {
    this.flavour = flavour
    this.process = process
  }

  /** Returns when the server takes connections. */
  static async start(flavour: MysqlFlavour, options: MysqlServerOptions = {}): Promise<MysqlServer> {
    const binaries = mysqlBinaries(flavour)
    if ("missing" in binaries) throw new Error(binaries.missing)
    const { folder } = binaries
    const process = await ServerProcess.start({
      title: flavour,
      prepare: (place) => (flavour === "tidb" ? prepareTidb(place) : prepareData(folder, place)),
      program: (place) =>
        flavour === "tidb" ? tidbProgram(folder, place) : serverProgram(flavour, folder, place, options),
      isReady: ({ ports: [port = 0] }) => isAnswering(adminUrl(flavour, port)),
    })
    return new MysqlServer(flavour, process)
  }

  get adminUrl(): string {
    return adminUrl(this.flavour, this.process.port)
  }

  /** An empty database, with or without the tables of a store. Creating tables takes longer than most tests. */
  async database(): Promise<MysqlDatabase> {
    const free = this.#free.pop()
    const name = free ?? `test_${++this.#databases}`
    await this.admin(
      ...(free === undefined
        ? [`CREATE DATABASE ${name}`]
        : ownTables.map((table) => `DELETE FROM ${free}.${table}`)),
    )
    return { url: this.urlOf(name), name }
  }

  /** The next test may have the database. */
  recycle({ name }: MysqlDatabase): void {
    this.#free.push(name)
  }

  urlOf(database: string, address = this.process.address): string {
    return `${this.flavour}://${userOf(this.flavour)}@${address}/${database}`
  }

  /** Runs statements beside the store. */
  async admin<Row>(...statements: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> {
    const sql = connected(this.adminUrl)
    try {
      let rows: ReadonlyArray<Row> = []
      for (const statement of statements) rows = await sql.unsafe(statement).simple()
      return rows
    } finally {
      await sql.close({ timeout: 0 })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
  }
}

const userOf = (flavour: MysqlFlavour): string => (flavour === "tidb" ? "root" : "test:secret")

const adminUrl = (flavour: MysqlFlavour, port: number): string =>
  `mysql://${userOf(flavour)}@127.0.0.1:${port}/mysql`

const connected = (url: string): SQL =>
  new SQL({ adapter: "mysql", url, max: 1, connectionTimeout: 5, allowPublicKeyRetrieval: true })

const isAnswering = async (url: string): Promise<boolean> => {
  const sql = connected(url)
  try {
    await sql.unsafe("SELECT 1").simple()
    return true
  } catch {
    return false
  } finally {
    await sql.close({ timeout: 0 }).catch(() => {})
  }
}

const prepareData = (folder: string, { folder: place }: ServerPlace): void => {
  const data = join(place, "data")
  if (existsSync(data)) return
  cpSync(join(folder, "data"), data, { recursive: true })
  writeFileSync(join(place, "init.sql"), initSql)
}

const serverProgram = (
  flavour: "mysql" | "mariadb",
  folder: string,
  { folder: place, ports: [port = 0] }: ServerPlace,
  { settings = {}, tls }: MysqlServerOptions,
): ServerProgram => {
  const { command, args } = suiteCommand(
    folder,
    flavour === "mysql" ? "usr/sbin/mysqld" : "usr/sbin/mariadbd",
  )
  const own = flavour === "mysql" ? { "innodb-redo-log-capacity": "64M", mysqlx: "OFF" } : {}
  const secured =
    tls === undefined ? {} : { "ssl-ca": tls.caFile, "ssl-cert": tls.certFile, "ssl-key": tls.keyFile }
  const options = {
    datadir: join(place, "data"),
    socket: join(place, "socket"),
    "pid-file": join(place, "pid"),
    "bind-address": "127.0.0.1",
    port: String(port),
    "init-file": join(place, "init.sql"),
    "max-allowed-packet": "16M",
    "max-connections": "100",
    "innodb-buffer-pool-size": "128M",
    "performance-schema": "OFF",
    ...own,
    ...secured,
    ...settings,
  }
  const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  return { command, args: [...args, ...basics(folder), "--skip-log-bin", "--skip-name-resolve", ...flags] }
}

const prepareTidb = ({ folder }: ServerPlace): void => {
  const lines = [
    "split-table = false",
    "[log]",
    'level = "error"',
    "[performance]",
    "max-procs = 2",
    "server-memory-quota = 2147483648",
    "[status]",
    "report-status = false",
  ]
  writeFileSync(join(folder, "tidb.toml"), `${lines.join("\n")}\n`)
}

/** One process with its own storage, without TiKV and PD. */
const tidbProgram = (binaries: string, { folder, ports: [port = 0] }: ServerPlace): ServerProgram => ({
  command: join(binaries, "tidb-server"),
  args: [
    ...["-config", join(folder, "tidb.toml"), "-store", "unistore", "-path", join(folder, "data")],
    ...["-host", "127.0.0.1", "-P", String(port), "-status=0", "-report-status=false"],
    ...["-lease", "100ms", "-socket", "", "-temp-dir", join(folder, "tmp")],
  ],
  env: { GOMAXPROCS: "2" },
})
