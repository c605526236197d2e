// Shard leases in the writer's database. Only the process that holds the lock file may claim. When it gets the lock, it
// knows that the previous holder of the leases is dead, and frees them at once.
import type { Database, Statement } from "bun:sqlite"
import type { Lease } from "../../ports/ShardLeases.ts"
import type { ProcessLock } from "./ProcessLock.ts"
import { writerSql } from "./statements.ts"
import type { Writer } from "./Writer.ts"

interface LeaseRow {
  readonly shard: number
  readonly epoch: number
  readonly counter: number
  readonly foreign_writes: number
  readonly node: string | null
}

export class Leases {
  readonly #database: Database
  readonly #writer: Writer
  readonly #lock: ProcessLock
  readonly #claim: Statement
  readonly #renew: Statement
  #hasFreed = false

  constructor(database: Database, writer: Writer, lock: ProcessLock) {
    this.#database = database
    this.#writer = writer
    this.#lock = lock
    this.#claim = database.prepare(writerSql.claim)
    this.#renew = database.prepare(writerSql.renew)
  }

  owners(): ReadonlyArray<Lease> {
    this.#becomeOwner()
    return (this.#database.query(writerSql.owners).all() as Array<LeaseRow>).map(leaseOf)
  }

  claim(expected: Lease, node: string): Lease | undefined {
    if (!this.#becomeOwner()) return undefined
    const row = this.#writer.transaction(() => {
      return this.#claim.get(expected.shard, expected.epoch, expected.counter, node) as LeaseRow | null
    })
    return row === null ? undefined : leaseOf(row)
  }

  renew(
    held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
  ): ReadonlyArray<{ readonly foreign: number } | undefined> {
    if (held.length === 0) return []
    return this.#writer.transaction(() =>
      held.map(({ shard, epoch }) => {
        const row = this.#renew.get(shard, epoch) as Pick<LeaseRow, "foreign_writes"> | null
        return row === null ? undefined : { foreign: row.foreign_writes }
      }),
    )
  }

  release(shard: number, epoch: number): void {
    this.#writer.transaction(() => this.#database.query(writerSql.release).run(shard, epoch))
  }

  #becomeOwner(): boolean {
    if (!this.#lock.tryAcquire()) return false
    if (!this.#hasFreed) this.#writer.transaction(() => this.#database.run(writerSql.freeAll))
    this.#hasFreed = true
    return true
  }
}

const leaseOf = (row: LeaseRow): Lease => ({
  shard: row.shard,
  epoch: row.epoch,
  counter: row.counter,
  foreign: row.foreign_writes,
  ...(row.node === null ? {} : { node: row.node }),
})
