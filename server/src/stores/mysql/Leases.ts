// Shard leases and members as rows. Only a claim locks the fence.
import { literal, literals } from "@punctual/documents/mysql/mysqlText"
import type { Announcement, Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"
import { type LeaseRow, leaseOf, renewedOf } from "../leaseRows.ts"
import { processHere } from "../ProcessIdentity.ts"
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

/** Renews all leases at once. The fences are read but not locked, so a slow write delays no renewal. */
const renew = async (
  session: Session,
  held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
): Promise<ReadonlyArray<{ readonly foreign: number } | undefined>> => {
  if (held.length === 0) return []
  const condition = `l.node IS NOT NULL AND ${orOfAll(held.map(({ shard, epoch }) => `(l.shard = ${shard} AND l.epoch = ${epoch})`))}`
  const [, rows = []] = await session.transaction<LeaseRow>([
    `UPDATE leases AS l FORCE INDEX (PRIMARY) SET l.counter = l.counter + 1 WHERE ${condition}`,
    leaseSql(condition),
  ])
  return renewedOf(held, rows)
}

const release = async (session: Session, shard: number, epoch: number): Promise<void> => {
  await session.run([`UPDATE leases SET node = NULL WHERE shard = ${shard} AND epoch = ${epoch}`])
}

/** Sets a column only if the entry belongs to this process. */
const ifOwn = (column: string, value: string): string =>
  `${column} = IF(process = VALUES(process), ${value}, ${column})`

/** False if the name belongs to another process. */
const announce = async (session: Session, member: Announcement): Promise<boolean> => {
  const { node, address, isLeaving } = member
  const [, rows = []] = await session.transaction<{ readonly is_own: number }>([
    `INSERT INTO members (node, address, beat, is_leaving, process)
      VALUES (${literals([node, address, 1, isLeaving, processHere()])}) ON DUPLICATE KEY UPDATE
      ${ifOwn("address", "VALUES(address)")}, ${ifOwn("beat", "beat + 1")}, ${ifOwn("is_leaving", "VALUES(is_leaving)")}`,
    `SELECT process = ${literal(processHere())} AS is_own FROM members WHERE node = ${literal(node)}`,
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

const isEntry = (node: string, process: string): string =>
  `node = ${literal(node)} AND process = ${literal(process)}`

const retire = async (session: Session, node: string): Promise<void> => {
  await session.run([`DELETE FROM members WHERE ${isEntry(node, processHere())}`])
}

/** Compares the beat too, so that a process that is alive again keeps its name. */
const retireSilent = async (session: Session, { node, process, beat }: SeenBeat): Promise<void> => {
  await session.run([`DELETE FROM members WHERE ${isEntry(node, process)} AND beat = ${beat}`])
}

const bury = async (session: Session, { node, process }: Member): Promise<void> => {
  await session.transaction([
    `UPDATE leases SET node = NULL WHERE node = ${literal(node)}
      AND EXISTS (SELECT 1 FROM members WHERE members.${isEntry(node, process)} FOR UPDATE)`,
    `DELETE FROM members WHERE ${isEntry(node, process)}`,
  ])
}

export const mysqlLeases = {
  owners,
  claim,
  renew,
  release,
  announce,
  members,
  retire,
  retireSilent,
  bury,
} as const
