// A real server as a process of its own, on free loopback ports, with its data in a temporary folder. It keeps both over
// a kill and a restart. The server and its children end when the object is disposed of, or at the latest when the test
// runner ends.
import { type ChildProcess, spawn } from "node:child_process"
import { connect, createServer } from "node:net"
import { eventually } from "./eventually.ts"
import { TemporaryFolder } from "./TemporaryFolder.ts"

export interface ServerPlace {
  readonly folder: string
  /** The first port is the one that clients use. */
  readonly ports: ReadonlyArray<number>
}

export interface ServerProgram {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  readonly gid?: number
}

export interface ServerProcessOptions {
  /** For people, such as `MySQL`. */
  readonly title: string
  /** How many free ports the server needs. */
  readonly portCount?: number
  /**
   * Writes configuration files and initial data, before the first start. It is called again, with other ports, if
   * another program took one of the ports.
   */
  prepare?(place: ServerPlace): void | Promise<void>
  program(place: ServerPlace): ServerProgram
  /** Asked again and again after each start. Without this function, the server is ready when it accepts connections. */
  isReady?(place: ServerPlace, logs: ReadonlyArray<string>): boolean | Promise<boolean>
  readonly readyWithinMs?: number
  readonly stopSignal?: NodeJS.Signals
}

const linesKept = 10_000
const startsTried = 5

export class ServerProcess implements AsyncDisposable {
  /** The output of all its runs. The oldest lines are dropped first. */
  readonly logs: Array<string> = []
  readonly host = "127.0.0.1"
  readonly #options: ServerProcessOptions
  readonly #folder = new TemporaryFolder()
  #ports: ReadonlyArray<number> = []
  #child: ChildProcess | undefined
  #exit: Promise<void> = Promise.resolve()
  /** Ready, and not asked to end. */
  #isMeantToRun = false

  private constructor(options: ServerProcessOptions) {
    this.#options = options
  }

  /** Returns when the server is ready. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options)
    try {
      await server.#firstLaunch()
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
    return server
  }

  get place(): ServerPlace {
    return { folder: this.#folder.path, ports: this.#ports }
  }

  /** The port for clients. It stays the same over restarts. */
  get port(): number {
    return this.#ports[0] ?? 0
  }

  /** host:port. */
  get address(): string {
    return `${this.host}:${this.port}`
  }

  /** Ends the server and its children without notice. */
  async kill9(): Promise<void> {
    this.#isMeantToRun = false
    this.#signal("SIGKILL")
    await this.#exit
  }

  /** Stops the server in good order. */
  async stop(): Promise<void> {
    this.#isMeantToRun = false
    this.#signal(this.#options.stopSignal ?? "SIGTERM")
    await this.#exit
  }

  /** Starts the server on the same ports and data. A server that runs is stopped first. */
  async restart(): Promise<void> {
    await this.stop()
    for (let tried = 1; !(await this.#isLaunched()); tried++) if (tried === startsTried) throw this.#failure()
  }

  freeze(): void {
    this.#signal("SIGSTOP")
  }

  thaw(): void {
    this.#signal("SIGCONT")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
    this.#folder[Symbol.dispose]()
  }

  /** Tries again with other ports if another program takes one of them in between. */
  async #firstLaunch(): Promise<void> {
    const { portCount = 1, prepare } = this.#options
    for (let tried = 1; ; tried++) {
      this.#ports = await freePorts(portCount)
      await prepare?.(this.place)
      if (await this.#isLaunched()) return
      if (tried === startsTried) throw this.#failure()
    }
  }

  #failure(): Error {
    return new Error(`${this.#options.title} does not start:\n${this.#lastLogs}`)
  }

  get #lastLogs(): string {
    return this.logs.slice(-20).join("\n")
  }

  /** Without this line, the failures of the test only say that nobody answers. */
  #reportEnd(code: number | null, signal: NodeJS.Signals | null): void {
    process.stderr.write(
      `${this.#options.title} ended by itself (${signal ?? `code ${code}`}):\n${this.#lastLogs}\n`,
    )
  }

  /** False if the server ended before it was ready. */
  async #isLaunched(): Promise<boolean> {
    const { title, program, isReady = acceptsConnections, readyWithinMs = 120_000 } = this.#options
    const { command, args, env, uid, gid } = program(this.place)
    // The server leads a group of its own, so that signals reach its children, too.
    const child = spawn(command, args, {
      cwd: this.#folder.path,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    })
    this.#child = child
    running.add(child)
    this.#exit = new Promise((resolve) => {
      const ended = () => {
        running.delete(child)
        if (this.#child === child) this.#child = undefined
        resolve()
      }
      child.once("exit", (code, signal) => {
        // Its last words arrive later.
        if (this.#isMeantToRun) child.once("close", () => this.#reportEnd(code, signal))
        ended()
      })
      child.once("error", (error) => {
        this.logs.push(error.message)
        ended()
      })
    })
    const ofThisRun: Array<string> = []
    this.#captureLogs(child, ofThisRun)
    const isReadyNow = await eventually(
      `${title} is ready`,
      async () => {
        if (this.#child !== child) return false
        return (await isReady(this.place, ofThisRun)) ? true : undefined
      },
      readyWithinMs,
    )
    this.#isMeantToRun = isReadyNow && this.#child === child
    return isReadyNow
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child !== undefined) signalGroup(this.#child, signal)
  }

  #captureLogs(child: ChildProcess, ofThisRun: Array<string>): void {
    for (const stream of [child.stdout, child.stderr]) {
      let rest = ""
      const keep = (lines: ReadonlyArray<string>) => {
        for (const kept of [this.logs, ofThisRun]) {
          kept.push(...lines)
          if (kept.length > linesKept) kept.splice(0, kept.length - linesKept)
        }
      }
      stream?.on("data", (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split("\n")
        rest = lines.pop() ?? ""
        keep(lines)
      })
      stream?.once("end", () => keep(rest === "" ? [] : [rest]))
    }
  }
}

const acceptsConnections = ({ ports: [port = 0] }: ServerPlace): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

/** All of them are open at the same time, so no port is given twice. */
const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const listeners = await Promise.all(
    Array.from({ length: count }, () => {
      const listener = createServer()
      return new Promise<typeof listener>((resolve, reject) => {
        listener.once("error", reject)
        listener.listen(0, "127.0.0.1", () => resolve(listener))
      })
    }),
  )
  const ports = listeners.map((listener) => {
    const address = listener.address()
    return address !== null && typeof address === "object" ? address.port : 0
  })
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))))
  return ports
}

const signalGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has already ended.
  }
}

const running = new Set<ChildProcess>()

process.once("exit", () => {
  for (const child of running) signalGroup(child, "SIGKILL")
})
