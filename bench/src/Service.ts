// The real service as its users run it, for the benchmarks that go over HTTP.
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "./EngineOnDisk.ts"

const main = fileURLToPath(new URL("../../server/src/main.ts", import.meta.url))

export class Service {
  url = ""
  readonly #folder = temporaryFolder()
  #process: Bun.Subprocess<"ignore", "pipe", "inherit"> | undefined

  static async start(): Promise<Service> {
    const service = new Service()
    await service.restart()
    return service
  }

  /** Kills the service, if it runs, and starts it on the same data. */
  async restart(): Promise<void> {
    await this.#kill()
    const child = Bun.spawn([process.execPath, main, "serve"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
      env: {
        ...process.env,
        TIMER_HTTP_PORT: "0",
        TIMER_DB_PATH: join(this.#folder, "punctual.db"),
        TIMER_LOG: "error",
      },
    })
    this.#process = child
    this.url = await addressIn(child.stdout)
    await this.#untilReady()
  }

  async post<Answer>(path: string, body: unknown): Promise<Answer> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }

  /** The value of one metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text()
    return Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1] ?? Number.NaN)
  }

  /** Resident memory of the process, by the system's account. */
  async residentMiB(): Promise<number> {
    const status = await Bun.file(`/proc/${this.#process?.pid}/status`).text()
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024
  }

  async stop(): Promise<void> {
    await this.#kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #kill(): Promise<void> {
    this.#process?.kill("SIGKILL")
    await this.#process?.exited
  }

  async #untilReady(): Promise<void> {
    const deadline = Date.now() + 30_000
    while (!(await fetch(`${this.url}/health/ready`)).ok) {
      if (Date.now() > deadline) throw new Error("the service was not ready within 30 s")
      await Bun.sleep(10)
    }
  }
}

/** The first URL the service prints; what follows is read and dropped, so that it never blocks on a full pipe. */
const addressIn = async (output: ReadableStream<Uint8Array>): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const drain = async () => {
    let text = ""
    for await (const chunk of output) {
      if (text.length < 10_000) text += new TextDecoder().decode(chunk)
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
      if (url !== undefined) resolve(url)
    }
    reject(new Error(`the service did not start: ${text}`))
  }
  drain().catch(reject)
  return promise
}
