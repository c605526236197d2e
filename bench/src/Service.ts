// The real service as its users run it, for the benchmarks over HTTP: a separate process, on SQLite in a temporary
// folder, or as a cluster of one node on its own PostgreSQL server.
import { copyFileSync, rmSync, statSync } from "node:fs"
import { Punctual } from "@punctual/client"
import type { PostgresServer } from "@punctual/server/testkit/PostgresServer"
import { ServiceProcess } from "@punctual/server/testkit/ServiceProcess"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { databaseBytes, serverResidentMiB, startPostgres } from "./BenchPostgres.ts"

export type StoreKind = "sqlite" | "postgres"

/** The names in the tables. */
export const storeName: Readonly<Record<StoreKind, string>> = { sqlite: "SQLite", postgres: "PostgreSQL" }

const metricsWithinMs = 30_000
/** For a thousand timers on a machine under load. */
const createWithinMs = 120_000
/** Linux counts CPU time in hundredths of a second. */
const microsPerTick = 10_000

export class Service implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack
  readonly #folder: string
  readonly #server: PostgresServer | undefined
  readonly #process: ServiceProcess

  private constructor(
    stack: AsyncDisposableStack,
    folder: string,
    server: PostgresServer | undefined,
    process: ServiceProcess,
  ) {
    this.#stack = stack
    this.#folder = folder
    this.#server = server
    this.#process = process
  }

  /** Starts the service, with more settings if needed. Resolves when it is ready for timers. */
  static async start(
    on: StoreKind = "sqlite",
    more: Readonly<Record<string, string>> = {},
  ): Promise<Service> {
    const stack = new AsyncDisposableStack()
    try {
      const folder = stack.use(new TemporaryFolder()).path
      const server = on === "postgres" ? stack.use(await startPostgres()) : undefined
      const settings = {
        TIMER_LOG: "error",
        ...(server === undefined ? {} : clusterOfOne(server)),
        ...more,
      }
      const process = stack.use(await ServiceProcess.ready({ folder, settings }))
      return new Service(stack, folder, server, process)
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  get url(): string {
    return this.#process.url
  }

  /** Kills the service without warning and starts it on the same data. Resolves when it is ready. Its URL changes. */
  async restart(): Promise<void> {
    await this.kill9()
    await this.startAgain()
  }

  /** Kills the service, but not its database, without warning. */
  async kill9(): Promise<void> {
    await this.#process.kill9()
  }

  /** Starts the service after a kill, on the same data. Resolves when it is ready. */
  async startAgain(): Promise<void> {
    await this.#process.start()
  }

  /** On SQLite: ends the service, keeps a copy of its file, and starts it again. */
  async keepFile(): Promise<void> {
    await this.#process.terminate()
    const file = ServiceProcess.databaseIn(this.#folder)
    copyFileSync(file, keptFileOf(file))
    await this.#process.start()
  }

  /** Kills the service, and starts it on a copy of the kept file. */
  async startOnKeptFile(): Promise<void> {
    await this.kill9()
    const file = ServiceProcess.databaseIn(this.#folder)
    for (const ending of ["-wal", "-shm"]) rmSync(`${file}${ending}`, { force: true })
    copyFileSync(keptFileOf(file), file)
    await this.#process.start()
  }

  /** Bytes that the service has written to disks since its start, without those of its database server. */
  async writtenBytes(): Promise<number> {
    const text = await Bun.file(`/proc/${this.#process.pid}/io`).text()
    return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
  }

  /** Creates timers, a thousand per call, one call after another. */
  async createMany(count: number, timer: (index: number) => object): Promise<void> {
    const punctual = new Punctual({ url: this.url, key: null, timeoutMs: createWithinMs })
    for (let first = 0; first < count; first += 1_000) {
      const timers = Array.from({ length: Math.min(1_000, count - first) }, (_, index) =>
        timer(first + index),
      )
      await punctual.exchange("timers.createMany", { timers })
    }
  }

  /** CPU time of all threads of the service's process since its start, exact to 10 ms. */
  async cpuMicros(): Promise<number> {
    const stat = await Bun.file(`/proc/${this.#process.pid}/stat`).text()
    // The name of the program may contain spaces. User and system time are the 14th and 15th field.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return (Number(fields[11]) + Number(fields[12])) * microsPerTick
  }

  /** Resident memory of the service's process as the system reports it, without its database server. */
  async residentMiB(): Promise<number> {
    return await this.#memoryMiB("VmRSS")
  }

  /** The highest resident memory since `forgetPeak`, or since the start. */
  async peakResidentMiB(): Promise<number> {
    return await this.#memoryMiB("VmHWM")
  }

  /** From now on the peak counts from the present value. */
  async forgetPeak(): Promise<void> {
    await Bun.write(`/proc/${this.#process.pid}/clear_refs`, "5")
  }

  /** The text of /metrics. */
  async metrics(): Promise<string> {
    const signal = AbortSignal.timeout(metricsWithinMs)
    return await (await fetch(`${this.url}/metrics`, { signal })).text()
  }

  /** Resident memory of all processes of its PostgreSQL server; undefined on SQLite, which has no server. */
  async serverResidentMiB(): Promise<number | undefined> {
    return this.#server === undefined ? undefined : await serverResidentMiB(this.#server)
  }

  /** On SQLite the size of the file and its log. On PostgreSQL the size of the database without the server's log. */
  async diskBytes(): Promise<number> {
    if (this.#server !== undefined) return await databaseBytes(this.#server)
    const file = ServiceProcess.databaseIn(this.#folder)
    return [file, `${file}-wal`].reduce(
      (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
  }

  async #memoryMiB(field: "VmRSS" | "VmHWM"): Promise<number> {
    const status = await Bun.file(`/proc/${this.#process.pid}/status`).text()
    return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

const keptFileOf = (file: string): string => `${file}.kept`

const clusterOfOne = (server: PostgresServer): Readonly<Record<string, string>> => ({
  TIMER_STORE_URL: server.database().url,
  TIMER_CLUSTER_SECRET: "a-secret-that-only-the-benchmark-knows",
})
