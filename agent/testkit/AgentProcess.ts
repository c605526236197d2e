// `punctual agent` as a process of its own. Tests start it, call it, kill it and start it again on the same data. The
// process ends when the object is disposed, or at the latest when the test runner ends.
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { eventually } from "@punctual/server/testkit/eventually"
import type { StepName } from "../src/ports/Steps.ts"

export interface AgentProcessOptions {
  /** Where its stores are, unless the settings name other places. */
  readonly folder: string
  readonly args?: ReadonlyArray<string>
  readonly settings?: Readonly<Record<string, string>>
  /** The agent can be told to kill itself at a step: `dieAt`. */
  readonly isMortal?: boolean
}

/** What the agent says when it knows where to die. */
export const armedLine = "The agent dies at"

const fileAt = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})

export class AgentProcess implements AsyncDisposable {
  readonly #options: AgentProcessOptions
  #child: ChildProcess | undefined
  #exit: Promise<number | undefined> = Promise.resolve(undefined)
  stdout = ""
  stderr = ""

  constructor(options: AgentProcessOptions) {
    this.#options = options
  }

  /** Returns when this text is in its output. */
  static async saying(text: string, options: AgentProcessOptions): Promise<AgentProcess> {
    const agent = new AgentProcess(options)
    try {
      await agent.start(text)
    } catch (error) {
      await agent[Symbol.asyncDispose]()
      throw error
    }
    return agent
  }

  /** Returns when its API is open. */
  static open(options: AgentProcessOptions): Promise<AgentProcess> {
    return AgentProcess.saying(apiLine, options)
  }

  get url(): string {
    return /Service Agent listens on (\S+)/.exec(this.stdout)?.[1] ?? ""
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** The exit code, once the process has ended; undefined if a signal ended it. */
  get exit(): Promise<number | undefined> {
    return this.#exit
  }

  launch(): void {
    const { args = [], folder, settings, isMortal = false } = this.#options
    const entry = isMortal ? [fileAt("mortalAgent.ts")] : [fileAt("../../app/src/main.ts"), "agent"]
    const child = spawn(process.execPath, [...entry, ...args], {
      cwd: folder,
      env: {
        ...inherited(),
        TIMER_HTTP_PORT: "0",
        AGENT_HTTP_PORT: "0",
        ...(settings !== undefined && "TIMER_STORE_URL_FILE" in settings
          ? {}
          : { TIMER_STORE_URL: `sqlite:${join(folder, "punctual.db")}` }),
        ...(settings !== undefined && "AGENT_STORE_URL_FILE" in settings
          ? {}
          : { AGENT_STORE_URL: `sqlite:${join(folder, "agent.db")}` }),
        ...settings,
      },
      stdio: [isMortal ? "pipe" : "ignore", "pipe", "pipe"],
    })
    this.#child = child
    this.stdout = ""
    this.stderr = ""
    running.add(child)
    child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString()
    })
    child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString()
    })
    this.#exit = new Promise((resolve) => {
      child.once("close", (code) => {
        running.delete(child)
        this.#child = undefined
        resolve(code ?? undefined)
      })
    })
  }

  async start(text = apiLine): Promise<void> {
    this.launch()
    await eventually(
      `the agent says ${JSON.stringify(text)}`,
      () => {
        if (this.stdout.includes(text)) return true
        if (this.#child === undefined) throw new Error(`the agent has ended:\n${this.stderr.slice(-4_000)}`)
        return undefined
      },
      startWithinMs,
    )
  }

  async kill9(): Promise<void> {
    this.#child?.kill("SIGKILL")
    await this.#exit
  }

  /** The process kills itself when it reaches the step for the nth time from now on. */
  async dieAt(step: StepName, nth: number): Promise<void> {
    this.#child?.stdin?.write(`${step} ${nth}\n`)
    await eventually(`the agent knows that it dies at ${step}`, () =>
      this.stdout.includes(`${armedLine} ${step} ${nth}\n`) ? true : undefined,
    )
  }

  terminate(): Promise<number | undefined> {
    this.#child?.kill("SIGTERM")
    return this.#exit
  }

  /** Calls the API of the tenant `t`, below its service calls. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers by paths that they check themselves.
  async call(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(`${this.url}/api/v1/tenants/t/service-calls${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    })
    return response.json()
  }

  /** Waits until the call has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  ended(serviceCallId: string): Promise<any> {
    return eventually(`the call ${serviceCallId} has ended`, async () => {
      const { call } = await this.call("GET", `/${serviceCallId}`)
      return ["Succeeded", "Failed", "Cancelled"].includes(call?.status) ? call : undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill9()
  }
}

/** Much longer than a start takes, also on a machine that is busy with other tests. */
const startWithinMs = 120_000

const apiLine = "The Service Agent listens on"

/** Settings in the environment of the test runner must not reach the agent. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(?:TIMER|AGENT)_/.test(name) ? [] : [[name, value] as const],
    ),
  )
