/**
 * A real service for a test, with a clock that only the test moves: a reminder in 31 days takes milliseconds. The service
 * keeps its timers in memory, listens on a free port of this machine, and ends with the test.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Admin, admin } from "../admin.ts"
import type { AdvanceClockAnswer } from "../contract/operators.ts"
import type { Duration, InstantInput } from "../contract/requests.ts"
import { instantText } from "../core/durations.ts"
import { Punctual } from "../Punctual.ts"
import { TestReceiver, type TestReply } from "./TestReceiver.ts"

/** The options of a test service. */
export interface TestServiceOptions {
  /**
   * The program to start. When left out: the variable `PUNCTUAL_EXECUTABLE`, or `punctual` in `node_modules/.bin`, or
   * `punctual` on the PATH. Nothing is downloaded.
   */
  readonly executable?: string | undefined
  /** Where the clock begins; now when left out. */
  readonly startAt?: InstantInput | undefined
  /** The namespace of `punctual`; `test` when left out. */
  readonly namespace?: string | undefined
  /** More settings, such as `TIMER_EGRESS`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

const startWithinMs = 60_000
const advanceWithinMs = 60_000
const advancesMost = 1_000
const outputCharsKept = 10_000

/** A running service with a manual clock: `await using service = await TestService.start()`. */
export class TestService implements AsyncDisposable {
  readonly url: string
  /** A client of the service. Its delays count by the clock of the service. */
  readonly punctual: Punctual
  /** The calls for operators. */
  readonly admin: Admin
  readonly #child: ChildProcess
  readonly #receivers: Array<TestReceiver> = []

  private constructor(child: ChildProcess, url: string, namespace: string) {
    this.#child = child
    this.url = url
    this.punctual = new Punctual({ url, namespace, delayFrom: "server" })
    this.admin = admin(this.punctual)
  }

  /** Starts the program, and returns when the service takes timers. */
  static async start(options: TestServiceOptions = {}): Promise<TestService> {
    const at = options.startAt === undefined ? "" : `:${instantText("startAt", options.startAt)}`
    const child = spawn(options.executable ?? findExecutable(), ["serve"], {
      env: {
        ...withoutSettings(process.env),
        TIMER_STORE_URL: "memory:",
        TIMER_HTTP_PORT: "0",
        TIMER_LOG: "warn",
        // With a key the service can keep the webhook secrets of the test.
        TIMER_SECRET_KEY: "0123456789abcdef".repeat(4),
        TIMER_CLOCK: `manual${at}`,
        ...options.settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    })
    // If the test ends without a stop, the service must not stay.
    process.once("exit", () => child.kill("SIGKILL"))
    try {
      return new TestService(child, await untilReady(child), options.namespace ?? "test")
    } catch (error) {
      child.kill("SIGKILL")
      throw error
    }
  }

  /** The time of the service. */
  async now(): Promise<Date> {
    return new Date((await this.admin.service.get()).now)
  }

  /** Moves the clock. Every timer that becomes due on the way has fired, and its outcome is stored, when this returns. */
  async advance(by: Duration): Promise<AdvanceClockAnswer> {
    const options = { timeoutMs: advanceWithinMs }
    let fired = 0
    const first = await this.admin.clock.advance({ by }, options)
    let answer = first
    // A part of the firings may be left for another call. It goes on to the same instant.
    for (let calls = 1; answer.more === true && calls < advancesMost; calls++) {
      fired += answer.fired
      answer = await this.admin.clock.advance({ to: first.now }, options)
    }
    return { ...answer, fired: fired + answer.fired }
  }

  /** An endpoint for timers that records what it gets. It answers 200, unless `reply` says otherwise. */
  async receiver(reply?: TestReply): Promise<TestReceiver> {
    const receiver = await TestReceiver.listening(reply)
    this.#receivers.push(receiver)
    return receiver
  }

  /** Ends the service and its receivers. */
  async stop(): Promise<void> {
    await Promise.all(this.#receivers.map((receiver) => receiver.stop()))
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once("exit", resolve))
    this.#child.kill("SIGKILL")
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Settings of the machine must not reach the test. */
const withoutSettings = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("TIMER_")))

const findExecutable = (): string => {
  const given = process.env["PUNCTUAL_EXECUTABLE"]
  if (given !== undefined && given !== "") return given
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const file = join(folder, "node_modules", ".bin", "punctual")
    if (existsSync(file)) return file
    if (folder === dirname(folder)) return "punctual"
  }
}

/** The URL, once the service takes timers. */
const untilReady = async (child: ChildProcess): Promise<string> => {
  const end = AbortSignal.timeout(startWithinMs)
  const url = await urlOf(child, end)
  for (;;) {
    const ready = await fetch(`${url}/health/ready`, { signal: end })
    await ready.text()
    if (ready.ok) return url
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const urlOf = (child: ChildProcess, end: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ""
    const fail = (what: string) => reject(new Error(`the test service ${what}\n${output}`))
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-outputCharsKept)
      const [, url] = /listens on (https?:\S+)\s/.exec(output) ?? []
      if (url !== undefined) resolve(url)
    }
    child.stdout?.on("data", read)
    child.stderr?.on("data", read)
    child.once("error", (error) =>
      fail(
        `could not start (${error.message}): set PUNCTUAL_EXECUTABLE to the program, or put punctual on the PATH`,
      ),
    )
    child.once("exit", (code) => fail(`ended with exit code ${code}`))
    end.addEventListener("abort", () => fail("did not start in time"))
  })
