// Leases as rows of SQL servers.
import type { Lease } from "../ports/ShardLeases.ts"

export interface LeaseRow {
  readonly shard: number
  readonly epoch: number
  readonly counter: number
  readonly foreign_writes: number
  readonly node: string | null
}

export const leaseOf = (row: LeaseRow): Lease => ({
  shard: row.shard,
  epoch: row.epoch,
  counter: row.counter,
  foreign: row.foreign_writes,
  ...(row.node === null ? {} : { node: row.node }),
})

/** The answer to a renewal, from the rows of the leases that were renewed. */
export const renewedOf = (
  held: ReadonlyArray<{ readonly shard: number }>,
  renewed: ReadonlyArray<Pick<LeaseRow, "shard" | "foreign_writes">>,
): ReadonlyArray<{ readonly foreign: number } | undefined> => {
  const foreign = new Map(renewed.map((row) => [row.shard, row.foreign_writes]))
  return held.map(({ shard }) => {
    const count = foreign.get(shard)
    return count === undefined ? undefined : { foreign: count }
  })
}
