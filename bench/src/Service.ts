// The real service as its users run it, for the benchmarks that go over HTTP: a process of its own on SQLite
// in a temporary folder.
import { ServiceProcess } from "@punctual/server/testkit/ServiceProcess"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"

export class Service implements AsyncDisposable {
  readonly #folder: TemporaryFolder
  readonly #process: ServiceProcess

  private constructor(folder: TemporaryFolder, process: ServiceProcess) {
    this.#folder = folder
    this.#process = process
  }

  static async start(): Promise<Service> {
    const folder = new TemporaryFolder()
    const settings = { TIMER_LOG: "error" }
    return new Service(folder, await ServiceProcess.ready({ folder: folder.path, settings }))
  }

  get url(): string {
    return this.#process.url
  }

  /** Killed without notice and started on the same data. */
  async restart(): Promise<void> {
    await this.#process.kill9()
    await this.#process.start()
  }

  /** Creates timers, a thousand a call. */
  async createMany(count: number, timer: (index: number) => object): Promise<void> {
    for (let first = 0; first < count; first += 1_000) {
      const timers = Array.from({ length: Math.min(1_000, count - first) }, (_, index) =>
        timer(first + index),
      )
      const response = await fetch(`${this.url}/api/v1/timers/createMany`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ timers }),
      })
      if (!response.ok) throw new Error(`createMany answered ${response.status}: ${await response.text()}`)
      await response.arrayBuffer()
    }
  }

  /** Resident memory of the process, by the system's account. */
  async residentMiB(): Promise<number> {
    const status = await Bun.file(`/proc/${this.#process.pid}/status`).text()
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}
