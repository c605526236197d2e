// The messages of a local bus that are not handled yet, and who is to handle them. Every open subscription has
// a copy of each message of its own, as every consumer of a broker has; a message is handled when all copies
// are. What a subscription had not handled when it closed goes to another that takes its type, or waits for
// one.
import { Latch } from "effect"
import type { Sent } from "./LocalDeadLetters.ts"
import type { Copy, Mailbox, Posted } from "./Mailbox.ts"

export class LocalTopic {
  readonly #mailboxes = new Set<Mailbox>()
  readonly #unhandled = new Set<Posted>()
  readonly #unhandledById = new Map<string, Posted>()
  #unclaimed: Array<Copy> = []
  #lastSequence = 0

  get unhandledCount(): number {
    return this.#unhandled.size
  }

  /** The message of this id, if it is not handled yet. */
  find(id: string): Posted | undefined {
    return this.#unhandledById.get(id)
  }

  /** Whether someone takes messages of the type; of a message whose type is unknown, whether anyone listens. */
  isHeard(type: string | undefined): boolean {
    return this.#takerOf(type) !== undefined
  }

  post(sent: Sent, id: string | undefined, type: string | undefined): Posted {
    const open = [...this.#mailboxes].filter(({ isOpen }) => isOpen)
    const posted: Posted = {
      ...sent,
      sequence: ++this.#lastSequence,
      id,
      type,
      openCopies: open.length,
      handled: Latch.makeUnsafe(false),
    }
    this.#unhandled.add(posted)
    if (id !== undefined) this.#unhandledById.set(id, posted)
    for (const mailbox of open) mailbox.put({ posted, delivery: 1 })
    return posted
  }

  finish({ posted }: Copy): void {
    posted.openCopies--
    if (posted.openCopies > 0 || !this.#unhandled.delete(posted)) return
    if (posted.id !== undefined) this.#unhandledById.delete(posted.id)
    posted.handled.openUnsafe()
  }

  /** To the mailbox it came from, while that is there. */
  giveBack(copy: Copy, mailbox: Mailbox): void {
    const taker = mailbox.isThere ? mailbox : this.#takerOf(copy.posted.type)
    if (taker === undefined) this.#unclaimed.push(copy)
    else taker.put(copy)
  }

  join(mailbox: Mailbox): void {
    this.#mailboxes.add(mailbox)
    this.#settleUnclaimed()
  }

  leave(mailbox: Mailbox): void {
    mailbox.isOpen = false
    mailbox.isThere = false
    this.#mailboxes.delete(mailbox)
    this.#unclaimed.push(...mailbox.empty())
    this.#settleUnclaimed()
  }

  /** In the order of publishing: what was handed back comes after what had not been taken, but is older. */
  #settleUnclaimed(): void {
    const copies = this.#unclaimed.toSorted((a, b) => a.posted.sequence - b.posted.sequence)
    this.#unclaimed = []
    for (const copy of copies) {
      const taker = this.#takerOf(copy.posted.type)
      if (taker === undefined) this.#unclaimed.push(copy)
      else taker.put(copy)
    }
  }

  #takerOf(type: string | undefined): Mailbox | undefined {
    for (const mailbox of this.#mailboxes) {
      if (mailbox.isOpen && (type === undefined || mailbox.subscription.types.has(type))) return mailbox
    }
    return undefined
  }
}
