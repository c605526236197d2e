// A real PostgreSQL server as a process of its own, on a free loopback port, with its data in a temporary folder. Tests
// stop or kill it and start it again on the same port and data. The server ends when the object is disposed, or at the
// latest when the test runner ends.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createServer } from "node:net"
import { basename, dirname, join } from "node:path"
import type { Certificates } from "./Certificates.ts"
import { eventually } from "./eventually.ts"
import { type PostgresKind, postgresBinaries } from "./PostgresBinaries.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface PostgresServerOptions {
  /** Off in tests that are not about durability and write a lot. */
  readonly isFsyncOn?: boolean
  /** Further settings of the server, by name. */
  readonly settings?: Readonly<Record<string, string>>
  /** The server offers TLS with this certificate, and trusts certificates of clients from the same authority. */
  readonly tls?: Certificates
  /** Who may connect, and how: the lines of pg_hba.conf. */
  readonly access?: ReadonlyArray<string>
}

/** Where one test keeps its data, separate from all others. */
export interface PostgresDatabase {
  /** The URL also names the schema. */
  readonly url: string
  readonly schema: string
}

const linesKept = 10_000
const startsTried = 20

export class PostgresServer implements AsyncDisposable {
  /** The log of all its runs. The oldest lines are dropped first. */
  readonly logs: Array<string> = []
  readonly #options: PostgresServerOptions
  readonly #folder = new TemporaryFolder()
  readonly #binaries: string
  #child: ChildProcess | undefined
  #exit: Promise<void> = Promise.resolve()
  #port = 0
  #databases = 0

  private constructor(kind: PostgresKind, folder: string, options: PostgresServerOptions) {
    this.#options = options
    if (servant !== undefined) chownSync(this.#folder.path, servant.uid, servant.gid)
    this.#binaries = kind === "packaged" ? runnable(folder, join(this.#folder.path, "native")) : folder
  }

  /** Returns when the server takes connections. */
  static async start(kind: PostgresKind, options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const binaries = postgresBinaries(kind)
    if ("missing" in binaries) throw new Error(binaries.missing)
    const server = new PostgresServer(kind, binaries.folder, options)
    try {
      server.#initialise()
      await server.#launch()
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
    return server
  }

  get host(): string {
    return "127.0.0.1"
  }

  /** The port stays the same over restarts. */
  get port(): number {
    return this.#port
  }

  get url(): string {
    return `postgres://postgres@${this.host}:${this.#port}/postgres`
  }

  /** A schema that does not exist yet; the store creates it. A schema is ten times cheaper than a database. */
  database(): PostgresDatabase {
    const schema = `test_${++this.#databases}`
    return { url: `${this.url}?schema=${schema}`, schema }
  }

  /** Ends all processes of the server without notice. */
  async kill9(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined) return
    killAll(child)
    await this.#exit
  }

  /** Stops the server in good order, without waiting for its clients. */
  async stop(): Promise<void> {
    this.#child?.kill("SIGINT")
    await this.#exit
  }

  /** Starts the server again, on the same port and data. */
  async restart(): Promise<void> {
    await this.stop()
    await this.#launch()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
    this.#folder[Symbol.dispose]()
  }

  get #data(): string {
    return join(this.#folder.path, "data")
  }

  #initialise(): void {
    this.#makeData()
    const { tls, access } = this.#options
    if (tls !== undefined) {
      this.#place("server.pem", readFileSync(tls.certFile, "utf8"))
      this.#place("server.key", readFileSync(tls.keyFile, "utf8"))
      this.#place("ca.pem", readFileSync(tls.caFile, "utf8"))
    }
    if (access !== undefined) this.#place("pg_hba.conf", `${access.join("\n")}\n`)
  }

  /** Puts a file into the server's folder. The server refuses a key that others may read. */
  #place(name: string, text: string): void {
    const path = join(this.#data, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (servant !== undefined) chownSync(path, servant.uid, servant.gid)
  }

  #makeData(): void {
    // The default order of texts is not bytewise, so that a test fails if the store relies on the default.
    const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"]
    execFileSync(
      join(this.#binaries, "initdb"),
      ["-D", this.#data, "-U", "postgres", "-A", "trust", "--no-sync", ...locale],
      { stdio: ["ignore", "ignore", "inherit"], cwd: this.#folder.path, ...servant },
    )
  }

  /** Tries again if another program takes the port in between, or if a killed predecessor still holds its memory. */
  async #launch(): Promise<void> {
    for (let tried = 1; ; tried++) {
      const port = this.#port === 0 ? await freePort() : this.#port
      if (await this.#isStarted(port)) {
        this.#port = port
        return
      }
      if (tried === startsTried) {
        throw new Error(`PostgreSQL does not start:\n${this.logs.slice(-20).join("\n")}`)
      }
    }
  }

  async #isStarted(port: number): Promise<boolean> {
    const child = spawn(join(this.#binaries, "postgres"), ["-D", this.#data, ...this.#settings(port)], {
      stdio: ["ignore", "ignore", "pipe"],
      cwd: this.#folder.path,
      ...servant,
    })
    this.#child = child
    running.add(child)
    this.#exit = new Promise((resolve) => {
      child.once("exit", () => {
        running.delete(child)
        this.#child = undefined
        resolve()
      })
    })
    const seen = this.logs.length
    this.#captureLogs(child)
    return eventually("PostgreSQL takes connections", () => {
      if (this.#child !== child) return false
      const isReady = this.logs
        .slice(seen)
        .some((line) => line.includes("database system is ready to accept connections"))
      return isReady ? true : undefined
    })
  }

  #settings(port: number): ReadonlyArray<string> {
    const settings: Record<string, string> = {
      listen_addresses: this.host,
      port: String(port),
      unix_socket_directories: "",
      max_connections: "60",
      shared_buffers: "64MB",
      fsync: this.#options.isFsyncOn === false ? "off" : "on",
      ...(this.#options.tls === undefined ? {} : tlsSettings),
      ...this.#options.settings,
    }
    return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  }

  #captureLogs(child: ChildProcess): void {
    let rest = ""
    child.stderr?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n")
      rest = lines.pop() ?? ""
      this.logs.push(...lines)
      if (this.logs.length > linesKept) this.logs.splice(0, this.logs.length - linesKept)
    })
  }
}

/** The paths are relative to the server's data. */
const tlsSettings = {
  ssl: "on",
  ssl_cert_file: "server.pem",
  ssl_key_file: "server.key",
  ssl_ca_file: "ca.pem",
}

interface Servant {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root. Then another user runs it. */
const findServant = (): Servant | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
  const user = ["postgres", "nobody"].flatMap((name) => users.filter((fields) => fields[0] === name))[0]
  if (user === undefined) throw new Error("PostgreSQL does not run as root: make a user named postgres")
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

const servant = findServant()

/**
 * The package's binaries at a place that the server's user can reach, with the links that npm archives cannot hold. The
 * binaries stay at their place if possible; otherwise they are copied.
 */
const runnable = (folder: string, copy: string): string => {
  const native = dirname(folder)
  const listed: ReadonlyArray<{ source: string; target: string }> = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  )
  const isWhole = listed.every(({ target }) => existsSync(join(dirname(native), target)))
  if (isWhole && (servant === undefined || isOpenToAll(folder))) return folder
  mkdirSync(copy)
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  for (const { source, target } of listed) {
    const link = join(copy, "..", target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
  return join(copy, "bin")
}

const isOpenToAll = (folder: string): boolean =>
  (statSync(folder).mode & 0o001) !== 0 && (dirname(folder) === folder || isOpenToAll(dirname(folder)))

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0))
    })
  })

const childrenOf = (pid: number): ReadonlyArray<number> =>
  execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []))

/**
 * The server is stopped first, so that it starts no process after the list was made. A process that outlives its server may
 * use a whole core forever.
 */
const killAll = (server: ChildProcess): void => {
  if (server.pid === undefined) return
  server.kill("SIGSTOP")
  const children = childrenOf(server.pid)
  server.kill("SIGKILL")
  for (const pid of children) killIfThere(pid)
}

const killIfThere = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // The process has already ended.
  }
}

const running = new Set<ChildProcess>()

process.once("exit", () => {
  for (const child of running) killAll(child)
})
