// A process of the bench with the lowest priority, for clients that would use machines of their own in production: they
// get only the processor time that the service leaves over. The process ends with the bench: if the bench is killed, its
// pipe to the process closes. It also ends after a time limit. obeyBench.ts is the other side.
import { fileURLToPath } from "node:url"
import type { Counts } from "./Tally.ts"

export interface LowPriorityOptions {
  /** The process ends after this time at the latest. */
  readonly seconds: number
}

export class LowPriorityProcess implements AsyncDisposable {
  readonly #process: Bun.Subprocess<"pipe", "pipe", "inherit">
  readonly #lines: LineReader

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#process = child
    this.#lines = new LineReader(child.stdout)
  }

  /** Starts the process. Its script gets the terms as JSON. Resolves when its work can begin at once. */
  static async prepare(
    script: URL,
    terms: object,
    { seconds }: LowPriorityOptions,
  ): Promise<LowPriorityProcess> {
    const child = Bun.spawn(
      ["nice", "-n", "19", process.execPath, fileURLToPath(script), JSON.stringify(terms), String(seconds)],
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    )
    const started = new LowPriorityProcess(child)
    try {
      const line = await started.#lines.next()
      if (line !== "ready") throw new Error(`the process said ${line}`)
      return started
    } catch (error) {
      await started[Symbol.asyncDispose]()
      throw error
    }
  }

  get pid(): number {
    return this.#process.pid
  }

  /** The exit code: 0 after `stop`, 3 after the time limit, 4 if its input ended. */
  get exited(): Promise<number> {
    return this.#process.exited
  }

  go(): void {
    this.#say("go")
  }

  /** Ends the process and returns what it got. */
  async stop(): Promise<Counts> {
    this.#say("stop")
    const line = await this.#lines.next()
    await this.#process.exited
    return JSON.parse(line) as Counts
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL")
    await this.#process.exited
  }

  #say(word: string): void {
    this.#process.stdin.write(`${word}\n`)
    this.#process.stdin.flush()
  }
}

class LineReader {
  readonly #reader: { read(): Promise<{ value?: Uint8Array | undefined; done: boolean }> }
  #text = ""

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader()
  }

  async next(): Promise<string> {
    for (;;) {
      const end = this.#text.indexOf("\n")
      if (end >= 0) {
        const line = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 1)
        return line
      }
      const { value, done } = await this.#reader.read()
      if (done) throw new Error("the process ended early")
      this.#text += new TextDecoder().decode(value)
    }
  }
}
