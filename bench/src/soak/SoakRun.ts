// The service, its receiver and its clients over a long run. Clients create timers all the time, due within a minute.
// They move some and cancel some. The receiver makes some retry, refuses some for good, and asks for some again.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { eventually } from "@punctual/server/testkit/eventually"
import { HistoryRecorder, type Key, type StoredLife } from "@punctual/server/testkit/History"
import { checkInvariants, describeViolations } from "@punctual/server/testkit/InvariantChecker"
import {
  accepted,
  type Delivery,
  Receiver,
  refusedFor,
  type WebhookReply,
} from "@punctual/server/testkit/Receiver"
import { RecordingClient } from "@punctual/server/testkit/RecordingClient"
import { SeededRandom } from "@punctual/server/testkit/SeededRandom"
import { ServiceProcess } from "@punctual/server/testkit/ServiceProcess"
import { readSqliteContents } from "@punctual/server/testkit/SqliteContents"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { percentile } from "../Benchmark.ts"
import type { Sample } from "./Sample.ts"

const spreadMs = 60_000
const retryMs = 500
const retryPolicy = { maxAttempts: 5, initialInterval: `${retryMs}ms`, backoffMultiplier: 1, jitter: 0 }
const keysRemembered = 5_000
const mebibyte = 1024 * 1024

export class SoakRun implements AsyncDisposable {
  readonly #recorder = new HistoryRecorder(() => Date.now())
  readonly #random = new SeededRandom()
  readonly #perSecond: number
  readonly #folder: TemporaryFolder
  readonly #startedAt = Date.now()
  readonly #keys: Array<Key> = []
  /** Finished lives by fireId. The run reads them before the service prunes them. */
  readonly #finished = new Map<string, StoredLife>()
  readonly #service: ServiceProcess
  readonly #client: RecordingClient
  #receiver: Receiver | undefined
  #created = 0
  #sampled = 0

  private constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#folder = new TemporaryFolder()
    this.#service = new ServiceProcess({
      folder: this.#folder.path,
      settings: { TIMER_LOG: "warn", TIMER_HISTORY_RETENTION: "2m" },
      recorder: this.#recorder,
    })
    this.#client = new RecordingClient({ recorder: this.#recorder, url: () => this.#service.url })
  }

  static async start(perSecond: number): Promise<SoakRun> {
    const run = new SoakRun(perSecond)
    run.#receiver = await Receiver.listening({
      recorder: run.#recorder,
      reply: (delivery) => run.#reply(delivery),
    })
    await run.#service.start()
    return run
  }

  /** Creates timers at the given rate until that instant. A service that is too slow lowers the rate. */
  async work(untilMs: number): Promise<void> {
    let second = 0
    while (Date.now() < untilMs) {
      await this.#doOneSecond()
      second++
      await Bun.sleep(Math.max(0, this.#startedAt + second * 1_000 - Date.now()))
    }
  }

  async sample(): Promise<Sample> {
    const { pid } = this.#service
    const status = readFileSync(`/proc/${pid}/status`, "utf8")
    const number = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN)
    const database = ServiceProcess.databaseIn(this.#folder.path)
    const sizeOf = (file: string) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / mebibyte
    this.#noteFinished()
    const { deliveries } = this.#target
    const fresh = deliveries.slice(this.#sampled).filter(({ attempt }) => attempt === 1)
    this.#sampled = deliveries.length
    return {
      minute: (Date.now() - this.#startedAt) / 60_000,
      residentMiB: number("VmRSS") / 1024,
      handles: readdirSync(`/proc/${pid}/fd`).length,
      threads: number("Threads"),
      databaseMiB: sizeOf(database),
      logMiB: sizeOf(`${database}-wal`),
      pending: await this.#service.metric("timer_pending"),
      delivered: deliveries.length,
      latenessP99Ms:
        fresh.length === 0
          ? 0
          : percentile(
              fresh.map(({ receivedAtMs, executeAtMs }) => receivedAtMs - executeAtMs),
              0.99,
            ),
    }
  }

  /** Waits until all timers are settled, ends the service, and returns what the checker found; empty if nothing. */
  async judge(): Promise<string> {
    const settled = async () => ((await this.#service.metric("timer_pending")) === 0 ? true : undefined)
    await eventually("nothing is pending", settled, 2 * spreadMs)
    this.#noteFinished()
    await this.#service.terminate()
    const { pending, tally } = readSqliteContents(ServiceProcess.databaseIn(this.#folder.path))
    const final = { pending, tally, finished: [...this.#finished.values()] }
    const violations = checkInvariants({ events: this.#recorder.events, final, dueUntilMs: Date.now() })
    return [describeViolations(violations), ...this.#target.malformed]
      .filter((text) => text !== "")
      .join("\n")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]()
    await this.#receiver?.[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }

  get #target(): Receiver {
    if (this.#receiver === undefined) throw new Error("the run has not been started")
    return this.#receiver
  }

  async #doOneSecond(): Promise<void> {
    const soon = () => Date.now() + 1_000 + this.#random.below(spreadMs)
    const singles = Math.ceil(this.#perSecond / 10)
    const request = () => ({
      key: this.#newKey(),
      executeAtMs: soon(),
      callbackUrl: `${this.#target.url}/hook`,
      payload: `{"n":${this.#created},"note":"${"x".repeat(this.#random.below(300))}"}`,
      retryPolicy,
    })
    const many = Array.from({ length: this.#perSecond - singles }, request)
    await Promise.all([
      ...Array.from({ length: singles }, () => this.#client.create(request())),
      ...(many.length === 0 ? [] : [this.#client.createMany(many)]),
      ...this.#some(0.05).map((key) => this.#client.update({ key, executeAtMs: soon() })),
      ...this.#some(0.05).map((key) => this.#client.cancel(key)),
    ])
  }

  #newKey(): Key {
    const key = { namespace: `tenant-${this.#random.below(20)}`, timerId: `t-${this.#created++}` }
    this.#keys[this.#created % keysRemembered] = key
    return key
  }

  #some(share: number): ReadonlyArray<Key> {
    return Array.from({ length: Math.ceil(this.#perSecond * share) }, () => {
      const key = this.#keys[this.#random.below(this.#keys.length)]
      return key === undefined ? [] : [key]
    }).flat()
  }

  #reply({ attempt }: Delivery): WebhookReply {
    const chance = this.#random.below(1_000)
    if (chance < 20 && attempt <= 3) return refusedFor(retryMs)
    if (chance < 23) return { status: 410, meaning: { result: "dead" } }
    if (chance < 35) {
      return {
        status: 200,
        body: '{"ok":true,"nextDelay":"5s"}',
        headers: { "content-type": "application/json" },
        meaning: { result: "rearmed" },
      }
    }
    return accepted
  }

  #noteFinished(): void {
    for (const life of readSqliteContents(ServiceProcess.databaseIn(this.#folder.path)).finished) {
      this.#finished.set(life.fireId, life)
    }
  }
}
