// Traffic that does not stop for faults. It creates timers all the time, due within seconds, moves some of them and
// cancels some. It behaves as the contract tells clients to: if a create gets no answer or a 503, the client asks the
// next node again with the same executeAt, until the answer is definite.
import type { Key } from "./History.ts"
import type { CreateRequest, RecordingClient } from "./RecordingClient.ts"
import type { SeededRandom } from "./SeededRandom.ts"

export interface ClusterLoadOptions {
  readonly client: RecordingClient
  readonly random: SeededRandom
  readonly callbackUrl: string
  readonly perSecond: number
}

/** How far ahead timers are due. */
const dueAfterMs = { least: 300, most: 3_500 }
/** Out of a hundred timers. */
const moved = 8
const cancelled = 8
/**
 * While this many requests wait for an answer, no new timer is created. The runtime allows at most 256 open requests.
 */
const openMax = 160
const tickMs = 10
const pauseMs = 100
/** A create that has no definite answer after this time is reported. */
const definiteWithinMs = 40_000

export class ClusterLoad {
  /** Creates that got no definite answer in time. A good run has none. */
  readonly unanswered: Array<Key> = []
  /** How long each create took until its definite answer, repeats included. */
  readonly createMs: Array<number> = []
  /** When the last timer is due. */
  lastDueMs = 0
  readonly #options: ClusterLoadOptions
  readonly #open = new Set<Promise<void>>()
  readonly #ticking: ReturnType<typeof setInterval>
  readonly #startedAt = performance.now()
  #begun = 0
  #skipped = 0

  /** The load begins at once. */
  constructor(options: ClusterLoadOptions) {
    this.#options = options
    this.#ticking = setInterval(() => this.#tick(), tickMs)
  }

  /** How many timers the load has started to create. */
  get created(): number {
    return this.#begun - this.#skipped
  }

  /** Creates no more timers, and ends when every request has its answer. */
  async stop(): Promise<void> {
    clearInterval(this.#ticking)
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  #tick(): void {
    const wanted = ((performance.now() - this.#startedAt) / 1_000) * this.#options.perSecond
    while (this.#begun < wanted) {
      const number = this.#begun++
      if (this.#open.size >= openMax) {
        this.#skipped++
        continue
      }
      const life = this.#live(number)
      this.#open.add(life)
      void life.finally(() => this.#open.delete(life))
    }
  }

  async #live(number: number): Promise<void> {
    const { client, random, callbackUrl } = this.#options
    const executeAtMs = this.#soon()
    const chance = random.below(100)
    const changeAfterMs = random.below(executeAtMs - Date.now())
    const key: Key = {
      namespace: random.oneOf(["orders", "billing", "trials"]),
      timerId: `t-${number}-${random.below(2 ** 32)}`,
    }
    const isKnown = await this.#create({ key, executeAtMs, callbackUrl, payload: `{"n":${number}}` })
    if (!isKnown || chance >= moved + cancelled) return
    await pause(changeAfterMs)
    if (chance < moved) await client.update({ key, executeAtMs: this.#soon() })
    else await client.cancel(key)
  }

  async #create(request: CreateRequest): Promise<boolean> {
    const startedAt = performance.now()
    for (;;) {
      const answer = await this.#options.client.create(request)
      const tookMs = performance.now() - startedAt
      if (answer !== undefined) {
        this.createMs.push(tookMs)
        return true
      }
      if (tookMs > definiteWithinMs) {
        this.unanswered.push(request.key)
        return false
      }
      await pause(pauseMs)
    }
  }

  #soon(): number {
    const { least, most } = dueAfterMs
    const dueMs = Date.now() + least + this.#options.random.below(most - least)
    this.lastDueMs = Math.max(this.lastDueMs, dueMs)
    return dueMs
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
