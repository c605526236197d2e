// The hosts whose timers wait for a slot of a class. Each host gets its turn.
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import { type SlotClass, type Slots, type SlotUse, slotClassOf } from "./Slots.ts"

/** The most hosts to look at in one turn. Hosts that were looked at go to the end. */
export const looksAtMost = 64

export class SlotWaiters {
  readonly #classes = new Map<SlotClass, Map<HostQueue, NamespaceQueue>>()

  add(slotClass: SlotClass, host: HostQueue, namespace: NamespaceQueue): void {
    // A host waits for slots of one class. The standing of the host may have changed since it began to wait.
    if (host.waitsFor !== undefined && host.waitsFor !== slotClass) this.forget(host)
    host.waitsFor = slotClass
    const hosts = this.#classes.get(slotClass)
    if (hosts === undefined) this.#classes.set(slotClass, new Map([[host, namespace]]))
    else if (!hosts.has(host)) hosts.set(host, namespace)
  }

  forget(host: HostQueue): void {
    if (host.waitsFor === undefined) return
    host.waitsFor = undefined
    for (const hosts of this.#classes.values()) hosts.delete(host)
  }

  /** The namespaces of the first hosts that wait for a slot of the class. A namespace is listed once for each host. */
  first(slotClass: SlotClass): ReadonlyArray<SlotUse> {
    const uses: Array<SlotUse> = []
    for (const [host, { slots }] of this.#classes.get(slotClass) ?? []) {
      if (uses.length === looksAtMost) break
      // A host may have become silent since it began to wait.
      if (host.parked.size > 0 && slotClassOf(host.standing) === slotClass) uses.push(slots)
    }
    return uses
  }

  /** Lets hosts go on for which there is room now. `release` moves one timer of the host to the ready ones. */
  releaseAll(slots: Slots, release: (host: HostQueue, namespace: NamespaceQueue) => void): void {
    for (const [slotClass, hosts] of this.#classes) {
      let room = slots.room(slotClass)
      let looks = Math.min(looksAtMost, hosts.size)
      for (const [host, namespace] of hosts) {
        if (room <= 0 || looks-- <= 0) break
        hosts.delete(host)
        if (host.parked.size === 0) {
          host.waitsFor = undefined
          continue
        }
        hosts.set(host, namespace)
        if (!slots.hasRoomFor(slotClass, namespace.slots)) continue
        room--
        release(host, namespace)
      }
    }
  }
}
