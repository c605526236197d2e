// Shard leases and members as rows. Only a claim locks the fence.
import type { Announcement, Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"
import { hasEnded, processHere } from "../ProcessIdentity.ts"
import { leaseSql } from "./statements.ts"

interface LeaseRow {
  readonly shard: number
  readonly epoch: number
  readonly counter: number
  readonly foreign_writes: number
  readonly node: string | null
}

export const readOwners = async (sql: Bun.SQL): Promise<ReadonlyArray<Lease>> => {
  const rows: ReadonlyArray<LeaseRow> = await sql.unsafe(leaseSql.owners)
  return rows.map(leaseOf)
}

export const claim = async (sql: Bun.SQL, expected: Lease, node: string): Promise<Lease | undefined> => {
  const { shard, epoch, counter } = expected
  const rows: ReadonlyArray<LeaseRow> = await sql.unsafe(leaseSql.claim, [shard, epoch, counter, node])
  return rows[0] === undefined ? undefined : leaseOf(rows[0])
}

export const renew = async (
  sql: Bun.SQL,
  held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
): Promise<ReadonlyArray<{ readonly foreign: number } | undefined>> => {
  if (held.length === 0) return []
  const rows: ReadonlyArray<Pick<LeaseRow, "shard" | "foreign_writes">> = await sql.unsafe(leaseSql.renew, [
    held.map(({ shard }) => shard),
    held.map(({ epoch }) => epoch),
  ])
  const foreign = new Map(rows.map((row) => [row.shard, row.foreign_writes]))
  return held.map(({ shard }) => {
    const count = foreign.get(shard)
    return count === undefined ? undefined : { foreign: count }
  })
}

export const release = async (sql: Bun.SQL, shard: number, epoch: number): Promise<void> => {
  await sql.unsafe(leaseSql.release, [shard, epoch])
}

/** False if the name belongs to another process. */
export const announce = async (sql: Bun.SQL, member: Announcement): Promise<boolean> => {
  const { node, address, isLeaving } = member
  const rows: ReadonlyArray<unknown> = await sql.unsafe(leaseSql.announce, [
    node,
    address,
    isLeaving,
    processHere(),
  ])
  return rows.length > 0
}

/** Frees the shards of nodes that ran on this machine and have ended. Returns their names. */
export const buryTheDead = async (sql: Bun.SQL): Promise<ReadonlyArray<string>> => {
  const rows: ReadonlyArray<{ readonly node: string; readonly process: string }> = await sql.unsafe(
    leaseSql.processes,
  )
  const dead = rows.filter((row) => hasEnded(row.process))
  for (const row of dead) await sql.unsafe(leaseSql.bury, [row.node, row.process])
  return dead.map(({ node }) => node)
}

interface MemberRow extends Omit<Member, "isLeaving" | "lacksSignatures"> {
  readonly is_leaving: boolean
  readonly is_signing: boolean
}

export const readMembers = async (sql: Bun.SQL): Promise<ReadonlyArray<Member>> => {
  const rows: ReadonlyArray<MemberRow> = await sql.unsafe(leaseSql.members)
  return rows.map(({ is_leaving, is_signing, ...row }) => ({
    ...row,
    isLeaving: is_leaving,
    ...(is_signing ? {} : { lacksSignatures: true }),
  }))
}

export const retire = async (sql: Bun.SQL, node: string): Promise<void> => {
  await sql.unsafe(leaseSql.retire, [node, processHere()])
}

export const retireSilent = async (sql: Bun.SQL, { node, process, beat }: SeenBeat): Promise<void> => {
  await sql.unsafe(leaseSql.retireSilent, [node, process, beat])
}

const leaseOf = (row: LeaseRow): Lease => ({
  shard: row.shard,
  epoch: row.epoch,
  counter: row.counter,
  foreign: row.foreign_writes,
  ...(row.node === null ? {} : { node: row.node }),
})
