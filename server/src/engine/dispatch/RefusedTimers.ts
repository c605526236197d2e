// What the dispatcher does with timers whose host the egress rules refuse. RefusedHosts.ts has the rules.
import type { EgressRefusal } from "../../domain/Delivery.ts"
import type { Delivery } from "../../ports/Deliverer.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Entry } from "../window/Entry.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import type { Flight } from "./Flight.ts"
import { type HostRefusal, RefusedHosts } from "./RefusedHosts.ts"

/** What can be stored after an attempt. */
export type StorableDelivery = Exclude<Delivery, EgressRefusal>

export interface RefusedTimersParts {
  readonly wall: WallClock["Service"]
  readonly monotonicMs: () => number
  readonly hasExpired: (entry: Entry) => boolean
  readonly settle: (flight: Flight, delivery: StorableDelivery, onStored: () => void) => void
  /** The rules refused a host that they did not refuse before. */
  readonly onRefused: (host: string, detail: string) => void
  /** The next parked timers of the host take their turn. */
  readonly unpark: (namespace: NamespaceQueue, host: HostQueue) => void
  /** The timer takes its turn. */
  readonly makeReady: (namespace: NamespaceQueue, entry: Entry) => void
  readonly pump: () => void
}

export class RefusedTimers {
  readonly #hosts = new RefusedHosts()
  readonly #parts: RefusedTimersParts

  constructor(parts: RefusedTimersParts) {
    this.#parts = parts
  }

  get counts(): { readonly hosts: number; readonly timers: number } {
    return { hosts: this.#hosts.hosts, timers: this.#hosts.waitingAt(this.#parts.wall.now()) }
  }

  refusalOf(host: string): HostRefusal | undefined {
    return this.#hosts.of(host)
  }

  isClosed(host: string): boolean {
    return this.#hosts.isClosed(host, this.#parts.monotonicMs)
  }

  noteStart(host: string): void {
    this.#hosts.noteStart(host)
  }

  noteLeft(entry: Entry): void {
    this.#hosts.noteLeft(entry)
  }

  /**
   * Takes a timer that is about to start, if its host is refused: `held` in memory or in the store. `full` if too many
   * postponements wait for the store: the timer is ready again, and its namespace must wait.
   */
  hold(namespace: NamespaceQueue, host: HostQueue, entry: Entry, nowMs: number): "held" | "full" | "no" {
    if (!this.isClosed(host.name) || this.#parts.hasExpired(entry)) return "no"
    if (this.#keep(namespace, host, entry)) return "held"
    if (!this.#hosts.beginPostponing()) {
      namespace.ready.push(entry)
      return "full"
    }
    const { window } = entry.home
    const flight: Flight = { entry, attempt: entry.timer.attempts + 1, startedAt: nowMs, sentAt: undefined }
    const delivery = this.#postponement(entry, host.name, nowMs)
    window.start(entry)
    this.#parts.settle(flight, delivery, () => {
      this.#hosts.endPostponing()
      window.noteStored()
      this.#parts.pump()
    })
    return "held"
  }

  /**
   * The result of an attempt, as a judgement of the host. Returns what must be stored; `undefined` if nothing must be,
   * because the rules refused the host and the timer waits in memory or was cancelled meanwhile.
   */
  judged(
    namespace: NamespaceQueue,
    host: HostQueue,
    { entry }: Flight,
    delivery: Delivery,
    wasSent: boolean,
  ): StorableDelivery | undefined {
    if (delivery.kind !== "egressRefused") {
      if (!wasSent) this.#hosts.noteUnjudged(host.name)
      else for (const [other, its] of this.#hosts.noteAllowed(host.name)) this.#parts.unpark(its, other)
      return delivery
    }
    const nowMs = this.#parts.wall.now()
    const { detail } = delivery
    if (this.#hosts.noteRefused(host.name, detail, nowMs, this.#parts.monotonicMs())) {
      this.#parts.onRefused(host.name, detail)
    }
    if (entry.isSuperseded) return undefined
    if (!this.#keep(namespace, host, entry)) return this.#postponement(entry, host.name, nowMs)
    entry.home.window.takeBack(entry)
    return undefined
  }

  /** Hosts are judged again when their time has come. Some timers must not wait here for that. */
  release(): void {
    if (this.#hosts.isIdle) return
    const monotonicMs = this.#parts.monotonicMs()
    for (const [host, namespace] of this.#hosts.dueForJudgement(monotonicMs)) {
      this.#parts.unpark(namespace, host)
    }
    for (const [entry, [host, namespace]] of this.#hosts.dueToLeave(monotonicMs, this.#parts.hasExpired)) {
      host.parked.remove(entry)
      this.#parts.makeReady(namespace, entry)
    }
  }

  #keep(namespace: NamespaceQueue, host: HostQueue, entry: Entry): boolean {
    if (!this.#hosts.keep(entry, host, namespace)) return false
    host.parked.push(entry)
    return true
  }

  #postponement(entry: Entry, host: string, nowMs: number): StorableDelivery {
    const inMs = this.#hosts.postponedMs(entry, host, nowMs, this.#parts.monotonicMs())
    return { kind: "postponed", inMs, error: this.#hosts.of(host)?.detail ?? "" }
  }
}
