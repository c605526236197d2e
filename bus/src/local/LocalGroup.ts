// The members of one group of the local bus, and the copies that wait for one of them. Messages of one key go to the
// same member as long as the members stay the same, so that the key's order holds; keys are spread over the members.
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

  /** Neither anybody to handle a message, nor a message to be handled. */
  get isOver(): boolean {
    return this.#members.size === 0 && this.unhandled === 0
  }

  /** To the member it came from, while that is there. */
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

  /** In the order of publishing: what was handed back comes after what had not been taken, but is older. */
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

/** Any that spreads: it decides nothing but who does the work. */
const hashOf = (text: string): number => {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}
