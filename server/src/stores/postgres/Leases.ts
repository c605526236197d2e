// Shard leases and members as rows. Only a claim locks the fence.
import type { Announcement, Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"
import { type LeaseRow, leaseOf, renewedOf } from "../leaseRows.ts"
import { processHere } from "../ProcessIdentity.ts"
import { leaseSql } from "./statements.ts"

const readOwners = async (sql: Bun.SQL): Promise<ReadonlyArray<Lease>> => {
  const rows: ReadonlyArray<LeaseRow> = await sql.unsafe(leaseSql.owners)
  return rows.map(leaseOf)
}

const claim = async (sql: Bun.SQL, expected: Lease, node: string): Promise<Lease | undefined> => {
  const { shard, epoch, counter } = expected
  const rows: ReadonlyArray<LeaseRow> = await sql.unsafe(leaseSql.claim, [shard, epoch, counter, node])
  return rows[0] === undefined ? undefined : leaseOf(rows[0])
}

const renew = async (
  sql: Bun.SQL,
  held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
): Promise<ReadonlyArray<{ readonly foreign: number } | undefined>> => {
  if (held.length === 0) return []
  const rows: ReadonlyArray<Pick<LeaseRow, "shard" | "foreign_writes">> = await sql.unsafe(leaseSql.renew, [
    held.map(({ shard }) => shard),
    held.map(({ epoch }) => epoch),
  ])
  return renewedOf(held, rows)
}

const release = async (sql: Bun.SQL, shard: number, epoch: number): Promise<void> => {
  await sql.unsafe(leaseSql.release, [shard, epoch])
}

/** False if the name belongs to another process. */
const announce = async (sql: Bun.SQL, member: Announcement): Promise<boolean> => {
  const { node, address, isLeaving } = member
  const rows: ReadonlyArray<unknown> = await sql.unsafe(leaseSql.announce, [
    node,
    address,
    isLeaving,
    processHere(),
  ])
  return rows.length > 0
}

const bury = async (sql: Bun.SQL, { node, process }: Member): Promise<void> => {
  await sql.unsafe(leaseSql.bury, [node, process])
}

interface MemberRow extends Omit<Member, "isLeaving" | "lacksSignatures"> {
  readonly is_leaving: boolean
  readonly is_signing: boolean
}

const readMembers = async (sql: Bun.SQL): Promise<ReadonlyArray<Member>> => {
  const rows: ReadonlyArray<MemberRow> = await sql.unsafe(leaseSql.members)
  return rows.map(({ is_leaving, is_signing, ...row }) => ({
    ...row,
    isLeaving: is_leaving,
    ...(is_signing ? {} : { lacksSignatures: true }),
  }))
}

const retire = async (sql: Bun.SQL, node: string): Promise<void> => {
  await sql.unsafe(leaseSql.retire, [node, processHere()])
}

const retireSilent = async (sql: Bun.SQL, { node, process, beat }: SeenBeat): Promise<void> => {
  await sql.unsafe(leaseSql.retireSilent, [node, process, beat])
}

export const postgresLeases = {
  owners: readOwners,
  claim,
  renew,
  release,
  announce,
  members: readMembers,
  retire,
  retireSilent,
  bury,
} as const
