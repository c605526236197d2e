// What the dispatcher does with timers whose host the egress rules refuse. RefusedHosts.ts has the rules.
import type { Delivery, Postponement, StorableDelivery } from "../../domain/Delivery.ts"
import type { Entry } from "../window/Entry.ts"
import type { DispatcherParts } from "./DispatcherParts.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import type { Flight } from "./Flight.ts"
import { type HostRefusal, RefusedHosts } from "./RefusedHosts.ts"

/** The most hosts to look at in one turn. */
const looksAtMost = 64

export interface RefusedTimersParts extends Pick<DispatcherParts, "wall" | "postpone" | "onRefused"> {
  readonly monotonicMs: () => number
  readonly hasExpired: (entry: Entry) => boolean
  /** The next parked timers of the host take their turn. */
  readonly unpark: (namespace: NamespaceQueue, host: HostQueue) => void
  /** The timer takes its turn. */
  readonly makeReady: (namespace: NamespaceQueue, entry: Entry) => void
  readonly pump: () => void
}

export class RefusedTimers {
  readonly #hosts = new RefusedHosts()
  /** Hosts with timers that wait until another postponement may begin. Each host gets its turn. */
  readonly #toPostpone = new Map<HostQueue, NamespaceQueue>()
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
   * Takes a timer that is about to start, if its host is refused. `waits`: the timer waits in memory. `postponed`: the
   * store gets a later fireAt.
   */
  hold(
    namespace: NamespaceQueue,
    host: HostQueue,
    entry: Entry,
    nowMs: number,
  ): "waits" | "postponed" | "no" {
    if (!this.isClosed(host.name) || this.#parts.hasExpired(entry)) return "no"
    if (this.#keep(namespace, host, entry)) return "waits"
    if (!this.#hosts.mayPostpone(namespace)) {
      host.toPostpone.push(entry)
      this.#toPostpone.set(host, namespace)
      return "waits"
    }
    const { window } = entry.home
    const postponement = this.#postponement(entry, host.name, nowMs)
    window.start(entry)
    this.#hosts.beginPostponing(namespace)
    this.#parts.postpone(entry, postponement, () => {
      this.#hosts.endPostponing(namespace)
      window.noteStored()
      this.#parts.pump()
    })
    return "postponed"
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
      else this.#noteAllowed(host.name)
      return delivery
    }
    const nowMs = this.#parts.wall.now()
    const { detail } = delivery
    const monotonicMs = this.#parts.monotonicMs()
    if (this.#hosts.noteRefused(host.name, detail, nowMs, monotonicMs)) {
      this.#parts.onRefused(host.name, detail, monotonicMs)
    }
    if (entry.isSuperseded) return undefined
    if (!this.#keep(namespace, host, entry)) return this.#postponement(entry, host.name, nowMs)
    entry.home.window.takeBack(entry)
    return undefined
  }

  /** Hosts are judged again when their time has come. Some timers must not wait here for that. */
  release(): void {
    if (this.#toPostpone.size > 0) this.#releaseToPostpone()
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

  #noteAllowed(name: string): void {
    if (this.#hosts.isIdle && this.#toPostpone.size === 0) return
    const { unpark } = this.#parts
    const queues = new Map(this.#hosts.noteAllowed(name))
    for (const [host, namespace] of this.#toPostpone) {
      if (host.name !== name) continue
      this.#toPostpone.delete(host)
      for (let entry = host.toPostpone.pop(); entry !== undefined; entry = host.toPostpone.pop()) {
        host.parked.push(entry)
      }
      queues.set(host, namespace)
    }
    for (const [host, namespace] of queues) unpark(namespace, host)
  }

  /** Some timers may be postponed now. They take their turn, one of each host. */
  #releaseToPostpone(): void {
    let room = this.#hosts.postponingRoom
    let looks = Math.min(looksAtMost, this.#toPostpone.size)
    for (const [host, namespace] of this.#toPostpone) {
      if (room <= 0 || looks-- <= 0) return
      this.#toPostpone.delete(host)
      const entry = this.#hosts.mayPostpone(namespace) ? host.toPostpone.pop() : undefined
      if (host.toPostpone.size > 0) this.#toPostpone.set(host, namespace)
      if (entry === undefined) continue
      room--
      this.#parts.makeReady(namespace, entry)
    }
  }

  #keep(namespace: NamespaceQueue, host: HostQueue, entry: Entry): boolean {
    if (!this.#hosts.keep(entry, host, namespace)) return false
    host.parked.push(entry)
    return true
  }

  #postponement(entry: Entry, host: string, nowMs: number): Postponement {
    const inMs = this.#hosts.postponedMs(entry, host, nowMs, this.#parts.monotonicMs())
    return { kind: "postponed", inMs, error: this.#hosts.of(host)?.detail ?? "" }
  }
}
