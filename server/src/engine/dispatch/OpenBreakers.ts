// The hosts whose breaker is open, and when the next of them may be probed.
import type { OpenBreaker } from "./DispatcherParts.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"

export class OpenBreakers {
  readonly #hosts = new Map<HostQueue, NamespaceQueue>()
  /** The earliest time for the next probe of a host that timers wait for, by the monotonic clock. */
  #probeDueMs = Number.POSITIVE_INFINITY

  get size(): number {
    return this.#hosts.size
  }

  /** The breaker of the host may have opened or closed. */
  note(namespace: NamespaceQueue, host: HostQueue): void {
    if (host.breaker.isOpen) this.#hosts.set(host, namespace)
    else this.#hosts.delete(host)
    if (host.parked.size > 0) this.expectProbe(host)
  }

  forget(host: HostQueue): void {
    this.#hosts.delete(host)
  }

  /** At most `limit` of them. */
  list(limit: number, nowMs: number): ReadonlyArray<OpenBreaker> {
    return [...this.#hosts].slice(0, limit).map(([{ name, breaker, parked }, namespace]) => ({
      host: name,
      namespace: namespace.name,
      failures: breaker.failures,
      waiting: parked.size,
      probeInMs: Math.max(0, (breaker.probeAtMs ?? nowMs) - nowMs),
    }))
  }

  named(name: string): ReadonlyArray<readonly [HostQueue, NamespaceQueue]> {
    return [...this.#hosts].filter(([host]) => host.name === name)
  }

  /** Timers wait for the host. */
  expectProbe({ breaker }: HostQueue): void {
    this.#probeDueMs = Math.min(this.#probeDueMs, breaker.probeAtMs ?? Number.POSITIVE_INFINITY)
  }

  expectProbeNow(): void {
    this.#probeDueMs = Number.NEGATIVE_INFINITY
  }

  /** Checks the hosts only when a probe is due, because there may be many hosts. */
  releaseDue(
    nowMs: number,
    isResting: (namespace: NamespaceQueue) => boolean,
    release: (namespace: NamespaceQueue, host: HostQueue) => void,
  ): void {
    if (this.#hosts.size === 0 || nowMs < this.#probeDueMs) return
    this.#probeDueMs = Number.POSITIVE_INFINITY
    for (const [host, namespace] of this.#hosts) {
      // A resting namespace cannot use the probe, and every pump would check it again. A host that waits for a slot goes
      // on when there is one.
      if (host.parked.size === 0 || host.waitsFor !== undefined || isResting(namespace)) continue
      release(namespace, host)
      this.expectProbe(host)
    }
  }
}
