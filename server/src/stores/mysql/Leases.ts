// Shard leases and members as rows. Only a claim locks the fence.
import { literal, literals } from "@punctual/documents/mysql/mysqlText"
import type { Announcement, Lease, Member } from "../../ports/ShardLeases.ts"
import { type LeaseRow, leaseOf, renewedOf } from "../leaseRows.ts"
import type { HeldLeases, LeaseWork, MemberEntry } from "../serverStore.ts"
import { isUnmet } from "./failures.ts"
import type { Session } from "./MysqlSessions.ts"
import { orOfAll, textColumn } from "./rows.ts"

const leaseSql = (condition: string): string =>
  `SELECT l.shard, l.epoch + 0e0 AS epoch, l.counter + 0e0 AS counter, l.node, s.foreign_writes + 0e0 AS foreign_writes
    FROM leases AS l JOIN shards AS s ON s.shard = l.shard WHERE ${condition} ORDER BY l.shard`

const owners = async (session: Session): Promise<ReadonlyArray<Lease>> => {
  return (await session.rows<LeaseRow>(leaseSql("TRUE"))).map(leaseOf)
}

/**
 * The fence is locked first: a claim waits for a running commit, and the next commit waits for the claim. The commit
 * numbers of a new owner start again. A claim that cannot succeed does not wait for the lock.
 */
const claim = async (session: Session, expected: Lease, node: string): Promise<Lease | undefined> => {
  const { shard, epoch, counter } = expected
  const same = `l.shard = ${shard} AND l.epoch = ${epoch} AND l.counter = ${counter}`
  if ((await session.rows(leaseSql(same))).length === 0) return undefined
  try {
    const results = await session.transaction<LeaseRow>([
      `SELECT shard FROM shards WHERE shard = ${shard} FOR UPDATE`,
      `UPDATE leases AS l SET l.epoch = l.epoch + 1, l.counter = l.counter + 1, l.node = ${literal(node)} WHERE ${same}`,
      // Fails if the lease was not the expected one.
      "SET @unmet = (SELECT 1 UNION ALL SELECT 1 FROM DUAL WHERE ROW_COUNT() <> 1)",
      `UPDATE shards SET epoch = ${epoch + 1}, last_write = 0 WHERE shard = ${shard}`,
      leaseSql(`l.shard = ${shard}`),
    ])
    const [claimed] = results.at(-1) ?? []
    return claimed && leaseOf(claimed)
  } catch (error) {
    if (isUnmet(error)) return undefined
    throw error
  }
}

const areHeld = (held: HeldLeases): string =>
  orOfAll(held.map(({ shard, epoch }) => `(l.shard = ${shard} AND l.epoch = ${epoch})`))

/** Renews all leases at once. The fences are read but not locked, so a slow write delays no renewal. */
const renew = async (session: Session, held: HeldLeases) => {
  const condition = `l.node IS NOT NULL AND ${areHeld(held)}`
  const [, rows = []] = await session.transaction<LeaseRow>([
    `UPDATE leases AS l FORCE INDEX (PRIMARY) SET l.counter = l.counter + 1 WHERE ${condition}`,
    leaseSql(condition),
  ])
  return renewedOf(held, rows)
}

const release = (session: Session, held: HeldLeases) =>
  session.run([`UPDATE leases AS l FORCE INDEX (PRIMARY) SET l.node = NULL WHERE ${areHeld(held)}`])

/** Sets a column only if the entry belongs to this process. */
const ifOwn = (column: string, value: string): string =>
  `${column} = IF(process = VALUES(process), ${value}, ${column})`

const announce = async (
  session: Session,
  { node, address, isLeaving }: Announcement,
  process: string,
): Promise<boolean> => {
  const [, rows = []] = await session.transaction<{ readonly is_own: number }>([
    `INSERT INTO members (node, address, beat, is_leaving, process)
      VALUES (${literals([node, address, 1, isLeaving, process])}) ON DUPLICATE KEY UPDATE
      ${ifOwn("address", "VALUES(address)")}, ${ifOwn("beat", "beat + 1")}, ${ifOwn("is_leaving", "VALUES(is_leaving)")}`,
    `SELECT process = ${literal(process)} AS is_own FROM members WHERE node = ${literal(node)}`,
  ])
  return rows[0]?.is_own === 1
}

type MemberRow = Omit<Member, "isLeaving"> & { readonly is_leaving: number }

const members = async (session: Session): Promise<ReadonlyArray<Member>> => {
  const rows = await session.rows<MemberRow>(
    `SELECT ${textColumn("m", "node")}, m.address, m.beat + 0e0 AS beat, m.is_leaving, m.process FROM members AS m
      ORDER BY m.node`,
  )
  return rows.map(({ is_leaving, ...row }) => ({ ...row, isLeaving: is_leaving === 1 }))
}

const remove = async (session: Session, { node, process, beat }: MemberEntry): Promise<boolean> => {
  const [, rows = []] = await session.run<{ readonly removed: number }>([
    `DELETE FROM members WHERE node = ${literal(node)} AND process = ${literal(process)}
      ${beat === undefined ? "" : `AND beat = ${beat}`}`,
    "SELECT ROW_COUNT() AS removed",
  ])
  return rows[0]?.removed === 1
}

export const mysqlLeases: LeaseWork<Session> = { owners, claim, renew, release, announce, members, remove }
