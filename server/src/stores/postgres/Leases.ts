// Shard leases and members as rows. Only a claim locks the fence.
import type { Announcement, Lease, Member } from "../../ports/ShardLeases.ts"
import { type LeaseRow, leaseOf, renewedOf } from "../leaseRows.ts"
import type { HeldLeases, LeaseWork, MemberEntry } from "../serverStore.ts"
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

const columnsOf = (held: HeldLeases) => [held.map(({ shard }) => shard), held.map(({ epoch }) => epoch)]

const renew = async (sql: Bun.SQL, held: HeldLeases) => {
  const rows: ReadonlyArray<Pick<LeaseRow, "shard" | "foreign_writes">> = await sql.unsafe(
    leaseSql.renew,
    columnsOf(held),
  )
  return renewedOf(held, rows)
}

const release = (sql: Bun.SQL, held: HeldLeases): Promise<unknown> =>
  sql.unsafe(leaseSql.release, columnsOf(held))

const announce = async (
  sql: Bun.SQL,
  { node, address, isLeaving }: Announcement,
  process: string,
): Promise<boolean> => {
  const rows: ReadonlyArray<unknown> = await sql.unsafe(leaseSql.announce, [
    node,
    address,
    isLeaving,
    process,
  ])
  return rows.length > 0
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

const remove = async (sql: Bun.SQL, { node, process, beat }: MemberEntry): Promise<boolean> => {
  const rows: ReadonlyArray<unknown> = await sql.unsafe(leaseSql.remove, [node, process, beat ?? null])
  return rows.length > 0
}

export const postgresLeases: LeaseWork<Bun.SQL> = {
  owners: readOwners,
  claim,
  renew,
  release,
  announce,
  members: readMembers,
  remove,
}
