// One of the bench's own servers (echo, receiver) in a separate process, so that both sides of a comparison have a
// process of their own. The server prints its address as its first line.
import { fileURLToPath } from "node:url"

export class ChildServer implements AsyncDisposable {
  readonly url: string
  readonly #process: Bun.Subprocess<"ignore", "pipe", "inherit">

  private constructor(url: string, child: Bun.Subprocess<"ignore", "pipe", "inherit">) {
    this.url = url
    this.#process = child
  }

  static async start(script: URL, ...args: ReadonlyArray<string>): Promise<ChildServer> {
    const child = Bun.spawn([process.execPath, fileURLToPath(script), ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    })
    const reader = child.stdout.getReader()
    let text = ""
    while (!text.includes("\n")) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`${script.pathname} ended before it was listening`)
      text += new TextDecoder().decode(value)
    }
    reader.releaseLock()
    return new ChildServer(text.trim(), child)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL")
    await this.#process.exited
  }
}
