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
  readonly canShare: boolean
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

  /** Whether the statement was applied. It may share a batch with others, but does not depend on them. */
  write(statement: Statement): Promise<boolean> {
    return this.#queued([statement], true)
  }

  /** Whether the statements were applied, all or none. A renewal must not wait for claims, so it is sent next. */
  renew(statements: ReadonlyArray<Statement>): Promise<boolean> {
    return this.#queued(statements, false)
  }

  #queued(statements: ReadonlyArray<Statement>, canShare: boolean): Promise<boolean> {
    if (this.#waiting.length >= mostWaiting) return Promise.reject(new Error("too many leases are changed"))
    return new Promise((done, failed) => {
      const waiting = { statements, canShare, done, failed }
      if (canShare) this.#waiting.push(waiting)
      else this.#waiting.unshift(waiting)
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

  #taken(): ReadonlyArray<Waiting> {
    const alone = this.#waiting.findIndex(({ canShare }) => !canShare)
    if (alone >= 0) return this.#waiting.splice(alone, 1)
    return this.#waiting.splice(0, mostTogether)
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
