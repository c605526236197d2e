// The members of one group of the local bus, and the copies that wait for a member. While the members stay the same,
// messages of one key go to the same member, so that the key keeps its order. The keys are spread over the members.
import type { Copy, Mailbox } from "./Mailbox.ts"

export class LocalGroup {
  readonly name: string
  readonly topic: string
  readonly types: ReadonlySet<string>
  /** Copies that the group has not handled yet. */
  unhandled = 0
  readonly #members = new Set<Mailbox>()
  #unclaimed: Array<Copy> = []

  constructor(name: string, topic: string, types: ReadonlySet<string>) {
    this.name = name
    this.topic = topic
    this.types = types
  }

  get isOpen(): boolean {
    return this.#open.length > 0
  }

  /** The group has no members and no unhandled messages. */
  get isOver(): boolean {
    return this.#members.size === 0 && this.unhandled === 0
  }

  /** Gives the copy to the member it came from while that member exists, otherwise to the member of its key. */
  put(copy: Copy, from?: Mailbox): void {
    const taker = from?.isThere === true ? from : this.#takerOf(copy)
    if (taker === undefined) this.#unclaimed.push(copy)
    else taker.put(copy)
  }

  join(mailbox: Mailbox): void {
    this.#members.add(mailbox)
    this.#settleUnclaimed()
  }

  leave(mailbox: Mailbox): void {
    mailbox.isOpen = false
    mailbox.isThere = false
    this.#members.delete(mailbox)
    this.#unclaimed.push(...mailbox.empty())
    this.#settleUnclaimed()
  }

  get #open(): ReadonlyArray<Mailbox> {
    return [...this.#members].filter(({ isOpen }) => isOpen)
  }

  /** Works in the order of publishing. Copies that were given back are at the end of the list, but they are older. */
  #settleUnclaimed(): void {
    const copies = this.#unclaimed.toSorted((a, b) => a.posted.sequence - b.posted.sequence)
    this.#unclaimed = []
    for (const copy of copies) this.put(copy)
  }

  #takerOf({ posted }: Copy): Mailbox | undefined {
    const open = this.#open
    return open.length < 2 ? open[0] : open[hashOf(posted.key) % open.length]
  }
}

/** Any hash that spreads the keys is good enough: it only decides which member does the work. */
const hashOf = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}
