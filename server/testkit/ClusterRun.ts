// What every test of a cluster under faults has: three nodes, traffic over all of them, a fault, and then the same
// questions. Was anything lost, early, repeated or answered falsely? Did all due timers fire soon after the fault?
// Which requests were refused, and when? A run also prints its figures, so that a run that passes shows how well.
import { expect } from "bun:test"
import { ClusterHarness, type ClusterHarnessOptions, type ClusterNode } from "./ClusterHarness.ts"
import { ClusterLoad } from "./ClusterLoad.ts"
import { clusterRequestsPerSecond, judgesTimes } from "./effort.ts"
import { eventually, eventuallyAnswered } from "./eventually.ts"
import type { Delivery } from "./Receiver.ts"
import type { Exchange } from "./RecordingClient.ts"
import { SeededRandom } from "./SeededRandom.ts"

export interface Fault {
  readonly beganAtMs: number
  readonly endedAtMs: number
}

/** A node that was asked to stop, and where it listened until then. */
export interface Drain {
  readonly url: string
  readonly fromMs: number
  readonly tookMs: number
}

/** No due timer waits longer than this after a fault. Beside other tests, the limit only separates slow from never. */
const livelyAfterMs = judgesTimes ? 10_000 : 100_000
/** Ends the wait for something that never comes. */
const endsWithinMs = 120_000
/** A read of everything that a store holds takes the store's time from the nodes. */
const readsApartMs = 500

export class ClusterRun implements AsyncDisposable {
  readonly cluster: ClusterHarness
  readonly load: ClusterLoad
  readonly random: SeededRandom
  readonly #title: string
  readonly #startedAtMs = Date.now()

  private constructor(title: string, cluster: ClusterHarness, random: SeededRandom) {
    this.cluster = cluster
    this.random = random
    this.#title = title
    const { client, receiver } = cluster
    const perSecond = Math.min(
      cluster.requestsPerSecond ?? clusterRequestsPerSecond,
      clusterRequestsPerSecond,
    )
    this.load = new ClusterLoad({ client, random, callbackUrl: receiver.url, perSecond })
  }

  /** Returns with traffic under way. */
  static async start(title: string, options: ClusterHarnessOptions = {}): Promise<ClusterRun> {
    return new ClusterRun(title, await ClusterHarness.start(options), new SeededRandom())
  }

  /** Waits until the traffic has run for this long. */
  async until(ms: number): Promise<void> {
    await eventually(
      `${ms} ms of traffic`,
      () => Date.now() - this.#startedAtMs >= ms || undefined,
      ms + 60_000,
    )
  }

  /** Waits until this long after the fault. */
  async untilAfter({ endedAtMs }: Fault, ms: number): Promise<void> {
    await eventually(`${ms} ms after the fault`, () => Date.now() - endedAtMs >= ms || undefined, ms + 60_000)
  }

  /** Runs the fault and returns its time span. */
  async during(fault: () => Promise<void>): Promise<Fault> {
    const beganAtMs = Date.now()
    await fault()
    return { beganAtMs, endedAtMs: Date.now() }
  }

  /** Stops the nodes one after another, starts each again, and waits until it has its share of the shards. */
  async roll(
    start: (node: ClusterNode) => Promise<void> = (node) => node.start(),
  ): Promise<ReadonlyArray<Drain>> {
    const drains: Array<Drain> = []
    for (const node of this.cluster.nodes) {
      const { url } = node
      const fromMs = Date.now()
      expect(await node.terminate()).toBe(0)
      drains.push({ url, fromMs, tookMs: Date.now() - fromMs })
      await start(node)
      await this.cluster.spread()
    }
    return drains
  }

  /**
   * Requests without a good answer, other than those of nodes that drain. A node that drains says so until clients use
   * other nodes. Only then does it refuse connections.
   */
  refusedBeside(drains: ReadonlyArray<Drain>): ReadonlyArray<Exchange> {
    return this.refusedOutside([], 0).filter(({ url, sentAtMs, tookMs, status, retryAfter }) => {
      const isDraining = drains.some((drain) => drain.url === url && sentAtMs + tookMs >= drain.fromMs)
      return !isDraining || status !== 503 || retryAfter === undefined
    })
  }

  /** Ends the traffic, waits until nothing is pending, and then stops all nodes. */
  async finish(): Promise<void> {
    const { load, cluster } = this
    await load.stop()
    await eventually("the last timer is due", () => Date.now() > load.lastDueMs || undefined)
    await eventuallyAnswered(
      "nothing is pending",
      async () => {
        const { pending } = await cluster.contents()
        return pending.length === 0 ? true : undefined
      },
      endsWithinMs,
      readsApartMs,
    )
    expect([...new Set(await cluster.terminateAll())]).toEqual([0])
  }

  /** Every invariant holds. Call this after `finish`. */
  async expectInvariants(faults: ReadonlyArray<Fault>): Promise<void> {
    const { cluster, load } = this
    this.#print(faults)
    const report = await cluster.violations(Date.now())
    expect(report === "" ? "" : `${report}\n${cluster.storyOf(report)}`).toBe("")
    expect(cluster.receiver.malformed).toEqual([])
    expect(load.unanswered).toEqual([])
    expect(this.waits(faults).filter(({ waitedMs }) => waitedMs > livelyAfterMs)).toEqual([])
  }

  /**
   * How long each timer waited for its first attempt, counted from its due time, or from the end of the fault if that
   * is later.
   */
  waits(
    faults: ReadonlyArray<Fault>,
  ): ReadonlyArray<{ readonly timerId: string; readonly waitedMs: number }> {
    return firstAttempts(this.cluster.receiver.deliveries).map(({ key, executeAtMs, firedAtMs }) => {
      const fault = faults.findLast(({ beganAtMs }) => beganAtMs <= firedAtMs)
      const fromMs = Math.max(executeAtMs, Math.min(fault?.endedAtMs ?? 0, firedAtMs))
      return { timerId: key.timerId, waitedMs: firedAtMs - fromMs }
    })
  }

  longestWaitMs(faults: ReadonlyArray<Fault>): number {
    return Math.max(0, ...this.waits(faults).map(({ waitedMs }) => waitedMs))
  }

  /** Requests that overlap with the fault and got no good answer. */
  refused(fault: Fault): ReadonlyArray<Exchange> {
    return this.cluster.exchanges.filter((exchange) => isRefused(exchange) && overlaps(exchange, fault, 0))
  }

  /** Failures that a client cannot handle. A node that cannot serve says so, and when to try again. */
  get impolite(): ReadonlyArray<Exchange> {
    return this.cluster.exchanges.filter(
      ({ status, retryAfter }) =>
        status !== undefined && status >= 500 && (status !== 503 || retryAfter === undefined),
    )
  }

  /** Deliveries of timers of these shards that were due during the fault. */
  dueOn(shards: ReadonlySet<number>, { beganAtMs, endedAtMs }: Fault): ReadonlyArray<Delivery> {
    const { receiver } = this.cluster
    return receiver.deliveries.filter(
      ({ key, executeAtMs }) =>
        shards.has(this.cluster.shardOf(key)) && executeAtMs > beganAtMs && executeAtMs < endedAtMs,
    )
  }

  /** How many creates these nodes stored while the shard had no owner that they could reach. */
  async insertedWithoutOwner(nodes: ReadonlyArray<ClusterNode>): Promise<number> {
    const counts = await Promise.all(nodes.map(({ process }) => process.metric(insertedMetric)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Requests that overlap with the fault and got no answer at all. */
  unanswered(fault: Fault): ReadonlyArray<Exchange> {
    return this.refused(fault).filter(({ status }) => status === undefined)
  }

  /** Requests to the node that overlap with the fault. */
  exchangesWith({ url }: ClusterNode, fault: Fault): ReadonlyArray<Exchange> {
    return this.cluster.exchanges.filter((exchange) => exchange.url === url && overlaps(exchange, fault, 0))
  }

  /** When the shard's first attempt after this instant started. */
  firstAttemptAfter(shard: number, atMs: number): number {
    const { receiver } = this.cluster
    const started = receiver.deliveries.flatMap(({ key, firedAtMs }) =>
      firedAtMs > atMs && this.cluster.shardOf(key) === shard ? [firedAtMs] : [],
    )
    return Math.min(Number.POSITIVE_INFINITY, ...started)
  }

  /** Adds figures of a run that passes. */
  tell(figures: string): void {
    process.stderr.write(`  ${figures}\n`)
  }

  /** Requests without a good answer that were sent outside the faults and the time that they take to heal. */
  refusedOutside(faults: ReadonlyArray<Fault>, healMs: number): ReadonlyArray<Exchange> {
    return this.cluster.exchanges.filter(
      (exchange) => isRefused(exchange) && !faults.some((fault) => overlaps(exchange, fault, healMs)),
    )
  }

  /** Attempts after the first of a fireId under another epoch. Moves of shards caused these repeats. */
  get repeats(): number {
    const { deliveries } = this.cluster.receiver
    return deliveries.length - new Set(deliveries.map(({ fireId, attempt }) => `${fireId} ${attempt}`)).size
  }

  /** What nodes wrote when they took shards because of a long silence, and not by a handover. */
  get takeovers(): ReadonlyArray<string> {
    const lines = this.cluster.nodes.flatMap(({ process }) => process.logs)
    return lines.filter((line) => line.includes("has stopped renewing"))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load.stop()
    await this.cluster[Symbol.asyncDispose]()
  }

  #print(faults: ReadonlyArray<Fault>): void {
    const { cluster, load, repeats } = this
    const lateness = firstAttempts(cluster.receiver.deliveries).map((it) => it.firedAtMs - it.executeAtMs)
    const failures = new Map<string, number>()
    for (const exchange of cluster.exchanges) {
      if (!isRefused(exchange)) continue
      const what = `${exchange.call} ${exchange.status ?? exchange.failure}`
      failures.set(what, (failures.get(what) ?? 0) + 1)
    }
    const afterFault = this.waits(faults).map(({ waitedMs }) => waitedMs)
    const lines = [
      `${this.#title}: ${load.created} timers, ${cluster.receiver.deliveries.length} attempts, ${repeats} repeats`,
      `  late by p50 ${at(lateness, 0.5)}, p99 ${at(lateness, 0.99)}, at most ${at(lateness, 1)} ms; after the fault at most ${at(afterFault, 1)} ms`,
      `  creates answered in p50 ${at(load.createMs, 0.5)}, p99 ${at(load.createMs, 0.99)}, at most ${at(load.createMs, 1)} ms`,
      `  of ${cluster.exchanges.length} requests refused: ${[...failures].map(([what, count]) => `${count} ${what}`).join(", ") || "none"}`,
    ]
    process.stderr.write(`${lines.join("\n")}\n`)
  }
}

const insertedMetric = 'timer_forwarded_requests_total{result="inserted"}'

const overlaps = ({ sentAtMs, tookMs }: Exchange, { beganAtMs, endedAtMs }: Fault, healMs: number): boolean =>
  sentAtMs + tookMs >= beganAtMs && sentAtMs <= endedAtMs + healMs

const isRefused = ({ status }: Exchange): boolean => status === undefined || status >= 500

/** The attempt of each arming that started first. */
const firstAttempts = (deliveries: ReadonlyArray<Delivery>): ReadonlyArray<Delivery> => {
  const first = new Map<string, Delivery>()
  for (const delivery of deliveries) {
    const known = first.get(delivery.fireId)
    if (known === undefined || delivery.firedAtMs < known.firedAtMs) first.set(delivery.fireId, delivery)
  }
  return [...first.values()]
}

const at = (values: ReadonlyArray<number>, fraction: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))
  return Math.round(sorted[place] ?? Number.NaN)
}
