// The real service as a process of its own. Tests start it, call it, kill it and start it again on the same data. The
// harness owns the process, so tests only say what happens to it. The process ends when the object is disposed, or at
// the latest when the test runner ends.
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { eventually } from "./eventually.ts"
import type { HistoryRecorder } from "./History.ts"

/** A command that runs the service. The service's own arguments follow it. */
export interface Program {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** The whole environment besides the settings. If absent, the environment of the tests. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface ServiceProcessOptions {
  /** Where the database is, unless the settings name another place. Processes with the same folder share it. */
  readonly folder: string
  /** The name of the process in the history. */
  readonly name?: string
  readonly settings?: Readonly<Record<string, string>>
  readonly recorder?: HistoryRecorder
  /** The program to run, unless a start names another; by default the sources. */
  readonly program?: Program
  /** The authority of its certificate, as a PEM file, if it serves https. */
  readonly caFile?: string
}

const mainFile = fileURLToPath(new URL("../../app/src/main.ts", import.meta.url))

export const fromSource: Program = { command: process.execPath, args: [mainFile] }

const linesKept = 10_000
/** How long the output of a process that has ended may take to arrive. */
const lastWordsMs = 1_000
/** Only ends the wait for a service that never starts. On a busy machine some databases open slowly. */
const startsWithinMs = 120_000

export class ServiceProcess implements AsyncDisposable {
  /** The stderr lines of all its runs. The oldest lines are dropped first. */
  readonly logs: Array<string> = []
  readonly #options: ServiceProcessOptions
  #changed: Readonly<Record<string, string>> = {}
  #child: ChildProcess | undefined
  #exit: Promise<number | undefined> = Promise.resolve(undefined)
  #url = ""
  #output = ""
  /** How the last run ended. */
  #end = "it was not started"

  constructor(options: ServiceProcessOptions) {
    this.#options = options
  }

  /** Returns when the service is ready to take timers. */
  static async ready(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const service = new ServiceProcess(options)
    try {
      await service.start()
    } catch (error) {
      await service[Symbol.asyncDispose]()
      throw error
    }
    return service
  }

  /** Runs one of the other commands to its end. */
  static command(
    args: ReadonlyArray<string>,
    settings: Readonly<Record<string, string>> = {},
    { command, args: first, environment = inheritedEnvironment() }: Program = fromSource,
  ): Promise<{ readonly code: number | undefined; readonly stdout: string; readonly stderr: string }> {
    const child = spawn(command, [...first, ...args], {
      env: { ...environment, ...settings },
      stdio: ["ignore", "pipe", "pipe"],
    })
    running.add(child)
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    return new Promise((resolve) => {
      child.once("close", (code) => {
        running.delete(child)
        resolve({ code: code ?? undefined, stdout, stderr })
      })
    })
  }

  static databaseIn(folder: string): string {
    return join(folder, "punctual.db")
  }

  /** The process id of the current run. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Where the service listens. A restart picks another port. */
  get url(): string {
    return this.#url
  }

  /** The stdout of the current run, or of the last one. */
  get output(): string {
    return this.#output
  }

  /** The exit code, once the process has ended; undefined if a signal ended it. */
  get exit(): Promise<number | undefined> {
    return this.#exit
  }

  /** Changes settings from the next start on. */
  change(settings: Readonly<Record<string, string>>): void {
    this.#changed = { ...this.#changed, ...settings }
  }

  /** Starts the service, also after an earlier run, and waits until it is ready. */
  async start(program?: Program): Promise<void> {
    await this.launch(program)
    await eventually(
      "the service is ready",
      async () => {
        this.#mustRun()
        return (await this.statusOf("/health/ready")) === 200 ? true : undefined
      },
      startsWithinMs,
    ).catch((error: unknown) => {
      throw new Error(`${error}; ${this.#lastWords()}`)
    })
  }

  /** Starts the service and waits only until it listens. */
  async launch(program: Program = this.#options.program ?? fromSource): Promise<void> {
    if (this.#child !== undefined) throw new Error("the service is running already")
    const child = spawn(program.command, [...program.args, "serve"], {
      cwd: this.#options.folder,
      env: this.#environment(program),
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#child = child
    this.#output = ""
    this.#url = ""
    running.add(child)
    this.#exit = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        running.delete(child)
        this.#child = undefined
        this.#end = code === null ? `${signal} ended it` : `its exit code was ${code}`
        resolve(code ?? undefined)
      })
    })
    const closed = new Promise((resolve) => child.once("close", resolve))
    child.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString()
    })
    this.#captureLogs(child)
    this.#options.recorder?.node("started", this.#name)
    this.#url = await eventually(
      "the service listens",
      () => {
        this.#mustRun()
        return /listens on (https?:\S+)\n/.exec(this.#output)?.[1]
      },
      startsWithinMs,
    ).catch(async (error: unknown) => {
      if (this.#child !== undefined) throw error
      // Its last words arrive after its end.
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, lastWordsMs))])
      throw this.#notRunning()
    })
  }

  /** Ends the process without notice. */
  async kill9(): Promise<void> {
    this.#options.recorder?.node("killed", this.#name)
    this.signal("SIGKILL")
    await this.#exit
  }

  /** Asks the service to stop, and returns its exit code. */
  async terminate(): Promise<number | undefined> {
    this.#options.recorder?.node("stopped", this.#name)
    this.signal("SIGTERM")
    return this.#exit
  }

  /** Waits until the service ends by itself, and returns its exit code. */
  async fallen(withinMs = 30_000): Promise<number | undefined> {
    const exit = this.#exit.then((code) => ({ code }))
    const never = AbortSignal.timeout(withinMs)
    const late = new Promise<never>((_, reject) => {
      never.onabort = () => reject(new Error(`the service still runs, ${this.#lastWords()}`))
    })
    const { code } = await Promise.race([exit, late])
    this.#options.recorder?.node("killed", this.#name)
    return code
  }

  signal(signal: NodeJS.Signals): void {
    this.#mustRun()
    this.#child?.kill(signal)
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { caFile } = this.#options
    const tls = caFile === undefined ? {} : { tls: { ca: readFileSync(caFile, "utf8") } }
    return fetch(`${this.#url}${path}`, { ...init, ...tls })
  }

  async statusOf(path: string): Promise<number> {
    const response = await this.fetch(path)
    await response.arrayBuffer()
    return response.status
  }

  /** One value of /metrics. The name of a value with labels includes the labels. */
  async metric(name: string): Promise<number> {
    const text = await (await this.fetch("/metrics")).text()
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `))
    if (line === undefined) throw new Error(`/metrics has no ${name}`)
    return Number(line.slice(name.length + 1))
  }

  hasLogged(text: string): boolean {
    return this.logs.some((line) => line.includes(text))
  }

  /** A log line arrives after what it tells, so a test waits for it. */
  async untilLogged(text: string): Promise<void> {
    await eventually(`${this.#name} logs ${JSON.stringify(text)}`, () => this.hasLogged(text) || undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.kill("SIGKILL")
    await this.#exit
  }

  get #name(): string {
    return this.#options.name ?? "service"
  }

  #environment({ environment = inheritedEnvironment() }: Program): Record<string, string> {
    return {
      ...environment,
      TIMER_HTTP_PORT: "0",
      ...(hasStore(this.#options.settings)
        ? {}
        : { TIMER_DB_PATH: ServiceProcess.databaseIn(this.#options.folder) }),
      ...this.#options.settings,
      ...this.#changed,
    }
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

  #mustRun(): void {
    if (this.#child === undefined) throw this.#notRunning()
  }

  #notRunning(): Error {
    return new Error(`the service is not running: ${this.#end}, ${this.#lastWords()}`)
  }

  #lastWords(): string {
    return `its last log lines:\n${this.logs.slice(-20).join("\n")}`
  }
}

const hasStore = (settings: Readonly<Record<string, string>> = {}): boolean =>
  "TIMER_STORE_URL" in settings || "TIMER_STORE_URL_FILE" in settings

/** Settings in the environment of the test runner must not reach the service. */
const inheritedEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith("TIMER_") ? [] : [[name, value] as const],
    ),
  )

const running = new Set<ChildProcess>()

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})
