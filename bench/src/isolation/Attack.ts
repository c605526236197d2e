// A running attack, in a process of its own with the lowest priority. The process ends with the bench: if the bench is
// killed, its pipe to the process closes. It also ends after a time limit.
import { fileURLToPath } from "node:url"
import type { AttackTerms, Counts } from "./AttackTerms.ts"

const script = fileURLToPath(new URL("./attacker.ts", import.meta.url))

export interface AttackOptions {
  /** The process ends after this time at the latest. */
  readonly seconds: number
}

export class Attack implements AsyncDisposable {
  readonly #process: Bun.Subprocess<"pipe", "pipe", "inherit">
  readonly #lines: LineReader

  private constructor(child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.#process = child
    this.#lines = new LineReader(child.stdout)
  }

  /** Starts the process. Resolves when the attack can begin at once. */
  static async prepare(terms: AttackTerms, { seconds }: AttackOptions): Promise<Attack> {
    const child = Bun.spawn(
      ["nice", "-n", "19", process.execPath, script, JSON.stringify(terms), String(seconds)],
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    )
    const attack = new Attack(child)
    try {
      const line = await attack.#lines.next()
      if (line !== "ready") throw new Error(`the attacker said ${line}`)
      return attack
    } catch (error) {
      await attack[Symbol.asyncDispose]()
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

  /** Ends the attack and returns what the attacker got. */
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
      if (done) throw new Error("the attacker ended early")
      this.#text += new TextDecoder().decode(value)
    }
  }
}
