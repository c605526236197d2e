// Exports one signal: collects records, and sends them in batches. One request is in flight at a time. A collector that
// is slow, down or hanging costs records, never time or memory of the product: the queue is limited, each request has a
// timeout, waits between requests grow, and a batch that cannot be sent in time is dropped. Drops are counted.
//
// The exporter of Effect (effect/observability) keeps none of these limits: its buffer grows while a request runs, each
// full batch starts one more request, and requests have no timeout.
import { Clock, Effect, Fiber, Latch, Random } from "effect"
import { ExportQueue, type ExportQueueLimits } from "./ExportQueue.ts"
import type { OtlpSignal } from "./OtlpEncoding.ts"

/** The result of one request. */
export type SendResult =
  | { readonly kind: "taken"; readonly rejected: number; readonly why?: string | undefined }
  /** It may work later. */
  | { readonly kind: "retry"; readonly why: string; readonly afterMs?: number | undefined }
  /** It will not work later. */
  | { readonly kind: "refused"; readonly why: string }

/** Why records were dropped. */
export const dropReasons = ["queueFull", "unreachable", "refused"] as const

export type DropReason = (typeof dropReasons)[number]

export interface ExporterMetrics {
  exported(count: number): void
  dropped(reason: DropReason, count: number): void
}

export interface ExporterOptions extends ExportQueueLimits {
  readonly signal: OtlpSignal
  /** How long a record waits for others. */
  readonly delayMs: number
  /** How long a batch is tried. */
  readonly exportTimeoutMs: number
  /** Sends a batch. Limits its own time, and never fails. */
  readonly send: (records: ReadonlyArray<Uint8Array>) => Effect.Effect<SendResult>
  readonly metrics: ExporterMetrics
}

const firstWaitMs = 1_000
const longestWaitMs = 30_000
const warnEveryMs = 60_000

export class Exporter {
  readonly queue: ExportQueue
  readonly #options: ExporterOptions
  readonly #closing = Latch.makeUnsafe(false)
  #failures = 0
  #warnedAtMs = Number.NEGATIVE_INFINITY
  #dropped = 0
  /** How many of them the log has not told yet. */
  #untold = 0

  constructor(options: ExporterOptions) {
    this.#options = options
    this.queue = new ExportQueue(options)
  }

  /** Adds a record. It is encoded only if there is room for it. */
  add(encode: () => Uint8Array): void {
    if (!this.queue.hasRoom || !this.queue.add(encode())) this.#drop("queueFull", 1)
  }

  /** Exports until `close`. */
  readonly run: Effect.Effect<void> = Effect.suspend(() => this.#run())

  /** Exports what is left, for at most this long, and drops the rest. Returns how many records were dropped. */
  close(running: Fiber.Fiber<unknown>, withinMs: number): Effect.Effect<number> {
    return Effect.gen({ self: this }, function* () {
      const before = this.#dropped
      this.#closing.openUnsafe()
      yield* Effect.timeoutOption(Fiber.await(running), withinMs)
      yield* Fiber.interrupt(running)
      this.#drop("unreachable", this.queue.clear())
      return this.#dropped - before
    })
  }

  get #isClosing(): boolean {
    return this.#closing.isOpen()
  }

  #run(): Effect.Effect<void> {
    const { queue } = this
    return Effect.gen({ self: this }, function* () {
      while (!this.#isClosing || queue.size > 0) {
        yield* Effect.raceFirst(queue.filled.await, this.#closing.await)
        yield* this.#sleep(this.#options.delayMs, queue.full.await)
        // The body is made in a turn of its own.
        yield* Effect.yieldNow
        if (queue.size > 0) yield* this.#export(queue.take())
      }
    })
  }

  /** Sleeps until the time is over, the exporter closes, or the other effect ends. */
  #sleep(ms: number, other: Effect.Effect<void> = Effect.never): Effect.Effect<void> {
    return Effect.raceAllFirst([Effect.sleep(ms), this.#closing.await, other])
  }

  /** If this is interrupted, the batch counts as dropped. */
  #export(records: ReadonlyArray<Uint8Array>): Effect.Effect<void> {
    const { send, exportTimeoutMs, metrics } = this.#options
    return Effect.gen({ self: this }, function* () {
      const startedAt = yield* Clock.currentTimeMillis
      while (true) {
        const result = yield* send(records)
        if (result.kind === "taken") {
          metrics.exported(records.length - result.rejected)
          yield* this.#taken(result.rejected, result.why)
          return
        }
        this.#failures++
        if (result.kind === "refused") {
          this.#drop("refused", records.length)
          yield* this.#warn(result.why)
          return
        }
        const waitMs = result.afterMs ?? (yield* this.#waitMs)
        const now = yield* Clock.currentTimeMillis
        const isLast = this.#isClosing || now + waitMs - startedAt > exportTimeoutMs
        // A collector that does not answer now will not answer for the rest of the queue either.
        if (isLast) this.#drop("unreachable", records.length + (this.#isClosing ? this.queue.clear() : 0))
        yield* this.#warn(result.why)
        yield* this.#sleep(waitMs)
        if (isLast) return
      }
    }).pipe(Effect.onInterrupt(() => Effect.sync(() => this.#drop("unreachable", records.length))))
  }

  /** Doubles with each failure. The random part keeps many nodes from asking together. */
  get #waitMs(): Effect.Effect<number> {
    const ms = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(this.#failures - 1, 16))
    return Effect.map(Random.next, (random) => Math.round(ms * (0.5 + random / 2)))
  }

  #drop(reason: DropReason, count: number): void {
    if (count === 0) return
    this.#dropped += count
    this.#untold += count
    this.#options.metrics.dropped(reason, count)
  }

  #taken(rejected: number, why = "it gave no reason"): Effect.Effect<void> {
    const failed = this.#failures > 0
    this.#failures = 0
    if (rejected > 0) {
      this.#drop("refused", rejected)
      return this.#warn(why)
    }
    if (!failed) return Effect.void
    const dropped = this.#untold
    this.#untold = 0
    this.#warnedAtMs = Number.NEGATIVE_INFINITY
    return Effect.logInfo(`the collector takes ${this.#options.signal} again`).pipe(
      Effect.annotateLogs({ dropped }),
    )
  }

  /** At most one line in a minute, because these lines are exported, too. */
  #warn(why: string): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now - this.#warnedAtMs < warnEveryMs) return Effect.void
      this.#warnedAtMs = now
      const dropped = this.#untold
      this.#untold = 0
      return Effect.logWarning(
        `the collector does not take ${this.#options.signal}: ${why}. Timers are not affected`,
      ).pipe(Effect.annotateLogs({ dropped }))
    })
  }
}
