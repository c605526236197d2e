// A real nats-server with JetStream in a process of its own, on a free loopback port, with its data in a temporary
// folder. It keeps both over a kill and a restart. A server that a test leaves running is killed when the object is
// disposed of, or at the latest when the test runner ends.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import type { Certificates } from "@punctual/server/testkit/Certificates"
import { eventually } from "@punctual/server/testkit/eventually"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { type NatsBinary, natsBinary } from "./NatsBinary.ts"

export interface NatsServerOptions {
  readonly auth?: { readonly user: string; readonly password: string } | { readonly token: string }
  readonly tls?: Certificates
  /** With `tls`: clients must have a certificate of the same authority. */
  readonly wantsClientCertificate?: boolean
  /** Turned off to test what a client reports about a broker without JetStream. */
  readonly isJetStreamOn?: boolean
  /** Syncs each message before it is acknowledged. By default the server syncs every two minutes. */
  readonly syncsAlways?: boolean
  /** Instead of the usual one. */
  readonly binary?: NatsBinary
  /** Appended to the configuration file unchanged. */
  readonly config?: string
}

const linesKept = 10_000

export class NatsServer implements AsyncDisposable {
  /** The output of all its runs. The oldest lines are dropped first. */
  readonly logs: Array<string> = []
  readonly #options: NatsServerOptions
  readonly #folder = new TemporaryFolder()
  #child: ChildProcess | undefined
  #exit: Promise<void> = Promise.resolve()
  #port = 0

  private constructor(options: NatsServerOptions) {
    this.#options = options
  }

  /** Resolves when the server is listening. */
  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = new NatsServer(options)
    try {
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

  /** Stays the same over restarts. */
  get port(): number {
    return this.#port
  }

  /** host:port. */
  get address(): string {
    return `${this.host}:${this.#port}`
  }

  get url(): string {
    return `nats://${this.address}`
  }

  /** Kills the process without any notice. */
  async kill9(): Promise<void> {
    this.#child?.kill("SIGKILL")
    await this.#exit
  }

  async stop(): Promise<void> {
    this.#child?.kill("SIGTERM")
    await this.#exit
  }

  /** Starts it again, with the same port and data. */
  async restart(): Promise<void> {
    await this.stop()
    await this.#launch()
  }

  hasLogged(text: string): boolean {
    return this.logs.some((line) => line.includes(text))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
    this.#folder[Symbol.dispose]()
  }

  async #launch(): Promise<void> {
    const binary = this.#options.binary ?? natsBinary()
    if ("missing" in binary) throw new Error(binary.missing)
    const configFile = join(this.#folder.path, "nats.conf")
    const portsFolder = join(this.#folder.path, "ports")
    mkdirSync(portsFolder, { recursive: true })
    writeFileSync(configFile, this.#configuration(portsFolder))
    const child = spawn(binary.path, ["-c", configFile], { stdio: ["ignore", "ignore", "pipe"] })
    this.#child = child
    running.add(child)
    this.#exit = new Promise((resolve) => {
      child.once("exit", () => {
        running.delete(child)
        this.#child = undefined
        resolve()
      })
    })
    this.#captureLogs(child)
    this.#port = await eventually("nats-server listens", () => {
      if (this.#child === undefined) throw new Error(`nats-server ended:\n${this.logs.slice(-20).join("\n")}`)
      return listeningPort(join(portsFolder, `${basename(binary.path)}_${child.pid}.ports`))
    })
  }

  #configuration(portsFolder: string): string {
    const { auth, tls, wantsClientCertificate = false, isJetStreamOn, syncsAlways, config } = this.#options
    const lines = [
      `listen: "${this.host}:${this.#port === 0 ? -1 : this.#port}"`,
      `ports_file_dir: "${portsFolder}"`,
    ]
    if (isJetStreamOn !== false) {
      const sync = syncsAlways === true ? ", sync_interval: always" : ""
      lines.push(`jetstream { store_dir: "${join(this.#folder.path, "data")}"${sync} }`)
    }
    if (auth !== undefined && "token" in auth) lines.push(`authorization { token: "${auth.token}" }`)
    if (auth !== undefined && "user" in auth) {
      lines.push(`authorization { user: "${auth.user}", password: "${auth.password}" }`)
    }
    if (tls !== undefined) {
      const clients = `ca_file: "${tls.caFile}", verify: ${wantsClientCertificate}`
      lines.push(`tls { cert_file: "${tls.certFile}", key_file: "${tls.keyFile}", ${clients} }`)
    }
    if (config !== undefined) lines.push(config)
    return `${lines.join("\n")}\n`
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

/** Reads the port from the file that the server writes, once the file is complete. */
const listeningPort = (file: string): number | undefined => {
  try {
    const ports: unknown = JSON.parse(readFileSync(file, "utf8"))
    const url = /"(?:nats|tls):\/\/[^"]*:(\d+)"/.exec(JSON.stringify(ports))?.[1]
    return url === undefined ? undefined : Number(url)
  } catch {
    return undefined
  }
}

const running = new Set<ChildProcess>()

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})
