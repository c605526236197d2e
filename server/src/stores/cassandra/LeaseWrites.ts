// Conditional writes to the partition of the leases, one at a time for this process. Writes to one partition disturb each
// other: the server then repeats its rounds, and after 1.8 s it gives up. A node that takes over a dead one claims many
// shards at once, so claims and releases that wait are sent together, in one batch.
import type { BatchSession, Statement } from "./Session.ts"

/** How many claims and releases one batch contains. */
const mostTogether = 32

/** More than a node ever has under way: a claim or a release for each of its shards. */
const mostWaiting = 10_000

export const ofLeases = { isOfLeases: true, isConditional: true } as const

interface Waiting {
  readonly statements: ReadonlyArray<Statement>
  /** The shard of a write that may share a batch. */
  readonly shard?: number
  readonly done: (isApplied: boolean) => void
  readonly failed: (error: unknown) => void
}

export class LeaseWrites {
  readonly #session: Pick<BatchSession, "batch">
  readonly #waiting: Array<Waiting> = []
  #isWriting = false

  constructor(session: Pick<BatchSession, "batch">) {
    this.#session = session
  }

  /** Whether the statement was applied. It may share a batch with those of other shards, but does not depend on them. */
  write(shard: number, statement: Statement): Promise<boolean> {
    return this.#queued({ statements: [statement], shard })
  }

  /** Whether the statements were applied, all or none. A renewal must not wait for claims, so it is sent next. */
  renew(statements: ReadonlyArray<Statement>): Promise<boolean> {
    return this.#queued({ statements })
  }

  #queued(asked: Pick<Waiting, "statements" | "shard">): Promise<boolean> {
    if (this.#waiting.length >= mostWaiting) return Promise.reject(new Error("too many leases are changed"))
    return new Promise((done, failed) => {
      const waiting = { ...asked, done, failed }
      if (asked.shard === undefined) this.#waiting.unshift(waiting)
      else this.#waiting.push(waiting)
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    // In a turn of its own, so that writes of one turn share a batch.
    await Promise.resolve()
    for (let together = this.#taken(); together.length > 0; together = this.#taken()) {
      if ((await this.#sent(together)) !== false || together.length === 1) continue
      // One of them was refused, and so were all. Each learns its own answer.
      for (const waiting of together) await this.#sent([waiting])
    }
    this.#isWriting = false
  }

  /** Two writes of one shard never share a batch: both could expect the same lease, and both would be applied. */
  #taken(): ReadonlyArray<Waiting> {
    const alone = this.#waiting.findIndex(({ shard }) => shard === undefined)
    if (alone >= 0) return this.#waiting.splice(alone, 1)
    const shards = this.#waiting.slice(0, mostTogether).map(({ shard }) => shard)
    const again = shards.findIndex((shard, index) => shards.indexOf(shard) < index)
    return this.#waiting.splice(0, again < 0 ? mostTogether : again)
  }

  /** Whether the batch was applied. `undefined` if that is unknown, which is then told to all. */
  async #sent(together: ReadonlyArray<Waiting>): Promise<boolean | undefined> {
    try {
      const statements = together.flatMap((waiting) => waiting.statements)
      const isApplied = (await this.#session.batch(statements, ofLeases)) === undefined
      if (isApplied || together.length === 1) for (const { done } of together) done(isApplied)
      return isApplied
    } catch (error) {
      for (const { failed } of together) failed(error)
      return undefined
    }
  }
}
