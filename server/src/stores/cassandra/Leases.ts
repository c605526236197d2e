// Shard leases and members. All leases of a store are in one partition, so that a node renews all of its shards with one
// conditional batch. A claim first takes the lease and then sets the fence of the shard's own partition. Until both are
// done, nobody writes under the new epoch. If the claim ends in between, the next one goes on from its lease.
import type { Announcement, Lease, Member } from "../../ports/ShardLeases.ts"
import type { HeldLeases, LeaseWork, MemberEntry } from "../serverStore.ts"
import { type LeaseWrites, ofLeases } from "./LeaseWrites.ts"
import type { StoreParts } from "./Reader.ts"
import { numberIn, textIn } from "./rows.ts"
import { applies, type Row, type Statement } from "./Session.ts"

/** Nodes disturb each other in one partition, so a batch may be refused although its leases are held. */
const mostTries = 5

const reading = { isOfLeases: true } as const

interface Parts extends Pick<StoreParts, "session" | "fences"> {
  readonly leaseWrites: LeaseWrites
}

const owners = async ({ session }: Pick<Parts, "session">): Promise<ReadonlyArray<Lease>> => {
  const query = "SELECT shard, epoch, counter, node FROM leases WHERE store = ?"
  return (await session.rows(query, [session.store], reading)).map(leaseOf)
}

const claim = async (
  { session, fences, leaseWrites }: Parts,
  { shard, epoch, counter }: Lease,
  node: string,
): Promise<Lease | undefined> => {
  const { store } = session
  const next = { shard, epoch: epoch + 1, counter: counter + 1, foreign: 0, node }
  const nextEpoch = BigInt(next.epoch)
  const isTaken = await leaseWrites.write(shard, {
    query:
      "UPDATE leases SET epoch = ?, counter = ?, node = ? WHERE store = ? AND shard = ? IF epoch = ? AND counter = ?",
    params: [nextEpoch, BigInt(next.counter), node, store, shard, BigInt(epoch), BigInt(counter)],
  })
  if (!isTaken) return undefined
  const isFenced = await applies(
    session,
    "UPDATE shards SET epoch = ?, number = 0 WHERE store = ? AND shard = ? IF epoch < ?",
    [nextEpoch, store, shard, nextEpoch],
  )
  await fences.claimed(shard)
  return isFenced ? next : undefined
}

const renew = async (parts: Parts, held: HeldLeases) => {
  for (let tries = 0; ; tries++) {
    const leases = new Map((await owners(parts)).map((lease) => [lease.shard, lease]))
    const own = held.map(({ shard, epoch }) => {
      const lease = leases.get(shard)
      return lease?.epoch === epoch && lease.node !== undefined ? lease : undefined
    })
    const statements = own.flatMap((lease) => (lease === undefined ? [] : [renewal(parts, lease)]))
    const isRenewed = statements.length === 0 || (await parts.leaseWrites.renew(statements))
    if (isRenewed) return own.map((lease) => (lease === undefined ? undefined : { foreign: 0 }))
    if (tries === mostTries) throw new Error("the leases changed again and again while they were renewed")
  }
}

const renewal = ({ session }: Parts, { shard, epoch, counter, node }: Lease): Statement => ({
  query:
    "UPDATE leases SET counter = ? WHERE store = ? AND shard = ? IF epoch = ? AND counter = ? AND node = ?",
  params: [BigInt(counter + 1), session.store, shard, BigInt(epoch), BigInt(counter), node ?? null],
})

const release = ({ session, leaseWrites }: Parts, held: HeldLeases) =>
  Promise.all(
    held.map(({ shard, epoch }) =>
      leaseWrites.write(shard, {
        query: "UPDATE leases SET node = null WHERE store = ? AND shard = ? IF epoch = ?",
        params: [session.store, shard, BigInt(epoch)],
      }),
    ),
  )

const members = async ({ session }: Parts): Promise<ReadonlyArray<Member>> =>
  (await session.rows("SELECT * FROM members WHERE store = ?", [session.store], reading)).map(memberOf)

const announce = async (
  { session }: Parts,
  { node, address, isLeaving }: Announcement,
  own: string,
): Promise<boolean> => {
  const { store } = session
  for (let tries = 0; ; tries++) {
    const query = "SELECT * FROM members WHERE store = ? AND node = ?"
    const [before] = (await session.rows(query, [store, node], reading)).map(memberOf)
    if (before !== undefined && before.process !== own) return false
    const expected = before === undefined ? [null, null] : [BigInt(before.beat), before.process]
    const isAnnounced = await applies(
      session,
      `UPDATE members SET address = ?, beat = ?, is_leaving = ?, process = ? WHERE store = ? AND node = ?
        IF beat = ? AND process = ?`,
      [address, BigInt((before?.beat ?? 0) + 1), isLeaving, own, store, node, ...expected],
      ofLeases,
    )
    if (isAnnounced) return true
    if (tries === mostTries) throw new Error(`the entry of ${node} changed again and again`)
  }
}

const remove = ({ session }: Parts, { node, process, beat }: MemberEntry): Promise<boolean> => {
  const query = `DELETE FROM members WHERE store = ? AND node = ? IF process = ? ${beat === undefined ? "" : "AND beat = ?"}`
  const beats = beat === undefined ? [] : [BigInt(beat)]
  return applies(session, query, [session.store, node, process, ...beats], ofLeases)
}

export const cassandraLeases = {
  owners,
  claim,
  renew,
  release,
  announce,
  members,
  remove,
} as const satisfies LeaseWork<Parts>

const leaseOf = (row: Row): Lease => {
  const node = textIn(row, "node")
  return {
    shard: numberIn(row, "shard"),
    epoch: numberIn(row, "epoch"),
    counter: numberIn(row, "counter"),
    foreign: 0,
    ...(node === undefined ? {} : { node }),
  }
}

const memberOf = (row: Row): Member => ({
  node: textIn(row, "node") ?? "",
  address: textIn(row, "address") ?? "",
  beat: numberIn(row, "beat"),
  process: textIn(row, "process") ?? "",
  isLeaving: row["is_leaving"] === true,
})
