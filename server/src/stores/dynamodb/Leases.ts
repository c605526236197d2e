// Shard leases and members. All leases are one item, so that a node renews all its shards with one write. The fence of a
// shard is another item, because every commit writes it. A claim changes both in one transaction.
//
// For shard 7, `e7` is the epoch, `c7` the counter, `n7` the node and `h7` the epoch while the shard is held. A free shard
// has neither `n7` nor `h7`.
import type { DynamoExpression } from "@punctual/aws/DynamoExpression"
import { DynamoFailure } from "@punctual/aws/DynamoFailure"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { itemUpdateOf } from "@punctual/aws/DynamoTables"
import type { Announcement, Lease, Member } from "../../ports/ShardLeases.ts"
import type { HeldLeases, LeaseWork, MemberEntry } from "../serverStore.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import type { Database } from "./Database.ts"
import { fencePlace, foreignPlace, leasesPlace } from "./keys.ts"

const leaseOf = (leases: DynamoItem, foreign: DynamoItem | undefined, shard: number): Lease => {
  const node = leases[`n${shard}`]
  return {
    shard,
    epoch: Number(leases[`e${shard}`] ?? 0),
    counter: Number(leases[`c${shard}`] ?? 0),
    foreign: Number(foreign?.[`f${shard}`] ?? 0),
    ...(typeof node === "string" ? { node } : {}),
  }
}

/** The leases and the counters of inserts without an owner. */
const read = async ({
  tables,
  names,
}: Database): Promise<{ leases: DynamoItem; foreign: DynamoItem | undefined }> => {
  const [leases, foreign] = await Promise.all([
    tables.get(leasesPlace(names)),
    tables.get(foreignPlace(names)),
  ])
  return { leases: leases ?? {}, foreign }
}

const readOwners = async (database: Database): Promise<ReadonlyArray<Lease>> => {
  const { leases, foreign } = await read(database)
  return Array.from({ length: database.shards }, (_, shard) => leaseOf(leases, foreign, shard))
}

const claim = async (database: Database, expected: Lease, node: string): Promise<Lease | undefined> => {
  const { tables, names } = database
  const { shard, epoch, counter } = expected
  const next = {
    [`e${shard}`]: epoch + 1,
    [`c${shard}`]: counter + 1,
    [`n${shard}`]: node,
    [`h${shard}`]: epoch + 1,
  }
  const leases = itemUpdateOf(
    leasesPlace(names),
    { set: next },
    (expression) => `${expression.equals(`e${shard}`, epoch)} AND ${expression.equals(`c${shard}`, counter)}`,
  )
  const fence = itemUpdateOf(
    fencePlace(names, shard),
    { set: { epoch: epoch + 1, number: 0 } },
    (expression) => expression.equals("epoch", epoch),
  )
  try {
    await tables.writeTogether([{ Update: leases }, { Update: fence }])
  } catch (error) {
    if (error instanceof DynamoFailure && error.isConditional) return undefined
    throw error
  }
  const foreign = await tables.get(foreignPlace(names))
  return leaseOf(next, foreign, shard)
}

/** An expression is limited, so more shards need a second write. */
const renewedAtOnce = 64

const renew = async (database: Database, held: HeldLeases) => {
  const renewed = new Set<number>()
  for (let from = 0; from < held.length; from += renewedAtOnce)
    for (const shard of await renewSome(database, held.slice(from, from + renewedAtOnce))) renewed.add(shard)
  const foreign = await database.tables.get(foreignPlace(database.names))
  return held.map(({ shard }) =>
    renewed.has(shard) ? { foreign: Number(foreign?.[`f${shard}`] ?? 0) } : undefined,
  )
}

/** Returns the shards that are still held. A shard that was lost fails the write, and is left out of the next one. */
const renewSome = async ({ tables, names }: Database, held: HeldLeases): Promise<ReadonlyArray<number>> => {
  let left = held
  while (left.length > 0) {
    const isHeld = (expression: DynamoExpression) =>
      left.map(({ shard, epoch }) => expression.equals(`h${shard}`, epoch)).join(" AND ")
    const add = Object.fromEntries(left.map(({ shard }) => [`c${shard}`, 1]))
    if ((await tables.update(leasesPlace(names), { add }, isHeld)) !== undefined) break
    const now = (await tables.get(leasesPlace(names))) ?? {}
    left = left.filter(({ shard, epoch }) => now[`h${shard}`] === epoch)
  }
  return left.map(({ shard }) => shard)
}

const release = async ({ tables, names }: Database, held: HeldLeases): Promise<void> => {
  for (const { shard, epoch } of held)
    await tables.update(leasesPlace(names), { remove: [`n${shard}`, `h${shard}`] }, (expression) =>
      expression.equals(`h${shard}`, epoch),
    )
}

const membersKey = "members"

const memberPlace = ({ names }: Database, node: string) => ({
  table: names.control,
  key: { pk: membersKey, sk: node },
})

const announce = async (
  database: Database,
  { node, address, isLeaving }: Announcement,
  process: string,
): Promise<boolean> => {
  const set = { address, process, leaving: isLeaving ? 1 : 0 }
  const isOwn = (expression: DynamoExpression) =>
    `${expression.lacks("pk")} OR ${expression.equals("process", process)}`
  const place = memberPlace(database, node)
  return (await database.tables.update(place, { set, add: { beat: 1 } }, isOwn)) !== undefined
}

const readMembers = async ({ tables, names }: Database): Promise<ReadonlyArray<Member>> => {
  const members: Array<Member> = []
  for await (const { items } of tables.pages({ table: names.control, partition: ["pk", membersKey] }))
    for (const { sk, address, beat, process, leaving } of items)
      members.push({
        node: String(sk),
        address: String(address),
        beat: Number(beat),
        process: String(process),
        isLeaving: leaving === 1,
      })
  return members.sort((a, b) => compareUtf8(a.node, b.node))
}

const remove = (database: Database, { node, process, beat }: MemberEntry): Promise<boolean> =>
  database.tables.delete(memberPlace(database, node), (expression) => {
    const isOfProcess = expression.equals("process", process)
    return beat === undefined ? isOfProcess : `${isOfProcess} AND ${expression.equals("beat", beat)}`
  })

export const dynamoLeases: LeaseWork<Database> = {
  owners: readOwners,
  claim,
  renew,
  release,
  announce,
  members: readMembers,
  remove,
}
