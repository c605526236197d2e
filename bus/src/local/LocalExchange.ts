// The unhandled messages of a local bus, and the groups that handle them. Every group that has a member gets a copy of
// each message of its topic. A message is handled when all its copies are. When a member leaves, its unhandled copies
// go to another member of the group, or wait for one.
import { Latch } from "effect"
import { BusError, type Subscription, whyNotGroup } from "../Bus.ts"
import { LocalGroup } from "./LocalGroup.ts"
import type { Sent } from "./LocalUndeliverable.ts"
import type { Copy, Mailbox, Posted } from "./Mailbox.ts"

export class LocalExchange {
  readonly #groups = new Map<string, LocalGroup>()
  readonly #unhandled = new Set<Posted>()
  readonly #unhandledById = new Map<string, Posted>()
  readonly #arrivals: Array<() => void> = []
  #unhandledBytes = 0
  #lastSequence = 0

  get unhandledBytes(): number {
    return this.#unhandledBytes
  }

  get unhandledCount(): number {
    return this.#unhandled.size
  }

  /** How many messages the group has not handled yet. */
  lagOf(group: string): number {
    return this.#groups.get(group)?.unhandled ?? 0
  }

  /** The message of this id, if it is not handled yet. */
  find(id: string): Posted | undefined {
    return this.#unhandledById.get(id)
  }

  /** Whether a group has a member that takes messages of the type. */
  isHeard(type: string): boolean {
    for (const group of this.#groups.values()) if (group.types.has(type) && group.isOpen) return true
    return false
  }

  /** Whether the group has a member. */
  isOpen(group: string): boolean {
    return this.#groups.get(group)?.isOpen === true
  }

  onArrival(listener: () => void): void {
    this.#arrivals.push(listener)
  }

  /** Posts to every group of the topic that has a member, or only to `onlyGroup`. */
  post(sent: Sent, id: string | undefined, onlyGroup?: string): Posted {
    const groups = [...this.#groups.values()].filter(
      ({ name, topic, isOpen }) =>
        topic === sent.topic && isOpen && (onlyGroup === undefined || onlyGroup === name),
    )
    const posted: Posted = {
      ...sent,
      sequence: ++this.#lastSequence,
      id,
      openCopies: groups.length,
      handled: Latch.makeUnsafe(groups.length === 0),
    }
    if (groups.length === 0) return posted
    this.#unhandled.add(posted)
    this.#unhandledBytes += posted.bytes.length
    if (id !== undefined) this.#unhandledById.set(id, posted)
    for (const group of groups) {
      group.unhandled++
      group.put({ posted, delivery: 1 })
    }
    return posted
  }

  finish({ posted }: Copy, group: LocalGroup): void {
    group.unhandled--
    this.#forgetIfOver(group)
    posted.openCopies--
    if (posted.openCopies > 0 || !this.#unhandled.delete(posted)) return
    this.#unhandledBytes -= posted.bytes.length
    if (posted.id !== undefined && this.#unhandledById.get(posted.id) === posted) {
      this.#unhandledById.delete(posted.id)
    }
    posted.handled.openUnsafe()
  }

  /**
   * Returns the group of the subscription, and creates it if it is new. Returns an error if the subscription
   * contradicts the group.
   */
  groupOf({ group: name, topic, types }: Subscription): LocalGroup | BusError {
    const unfit = whyNotGroup(name)
    if (unfit !== undefined) return new BusError({ message: unfit })
    const known = this.#groups.get(name)
    if (known === undefined) {
      const group = new LocalGroup(name, topic, types)
      this.#groups.set(name, group)
      return group
    }
    if (known.topic !== topic) return contradiction(name, `belongs to the topic ${known.topic}, not ${topic}`)
    const isSame = known.types.size === types.size && [...types].every((type) => known.types.has(type))
    return isSame
      ? known
      : contradiction(
          name,
          `takes ${[...known.types].join(", ")}, and all its members must take the same types`,
        )
  }

  join(group: LocalGroup, mailbox: Mailbox): void {
    group.join(mailbox)
    for (const listener of this.#arrivals) listener()
  }

  leave(group: LocalGroup, mailbox: Mailbox): void {
    group.leave(mailbox)
    this.#forgetIfOver(group)
  }

  #forgetIfOver(group: LocalGroup): void {
    if (group.isOver && this.#groups.get(group.name) === group) this.#groups.delete(group.name)
  }
}

const contradiction = (group: string, what: string): BusError =>
  new BusError({ message: `The group ${group} ${what}: give this subscription a group of its own.` })
