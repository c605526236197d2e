// Shard leases and members as documents. A claim takes the lease, then fences the shard: the shard's document gets the
// new epoch, so no commit of the old owner matches it any more. Then the claim applies what the old owner committed
// last, and only then it is answered.
import { randomUUID } from "node:crypto"
import type { Document } from "@punctual/documents/mongodb/Commands"
import type { Announcement, Lease, Member } from "../../ports/ShardLeases.ts"
import type { HeldLeases, LeaseWork, MemberEntry } from "../serverStore.ts"
import type { MongodbConnection } from "./MongodbStore.ts"

const readOwners = async ({ commands }: MongodbConnection): Promise<ReadonlyArray<Lease>> =>
  (await commands.find("leases", {}, { sort: { _id: 1 } })).map(leaseOf)

const claim = async (
  { commands, commits }: MongodbConnection,
  { shard, epoch, counter }: Lease,
  node: string,
): Promise<Lease | undefined> => {
  const id = randomUUID()
  const update = { $set: { node, claim: id }, $inc: { epoch: 1, counter: 1 } }
  const taken =
    (await commands.change("leases", { _id: shard, epoch, counter }, update)) ??
    // If the command was sent twice, it did not match its own result.
    (await commands.findOne("leases", { _id: shard, claim: id }))
  if (taken === undefined) return undefined
  const lease = leaseOf(taken)
  const fence = {
    q: { _id: shard, epoch: { $lt: lease.epoch } },
    u: { $set: { epoch: lease.epoch, number: 0 } },
  }
  await commands.update("shards", [fence])
  const settled = await commits.settle(shard)
  // A later claim may have fenced the shard meanwhile.
  return settled.epoch === lease.epoch ? lease : undefined
}

const renew = async ({ commands, commits }: MongodbConnection, held: HeldLeases) => {
  const shards = held.map(({ shard }) => shard)
  await commits.finishForeign(shards)
  const q = { $or: held.map(({ shard, epoch }) => ({ _id: shard, epoch })), node: { $exists: true } }
  await commands.update("leases", [{ q, u: { $inc: { counter: 1 } }, multi: true }])
  // An epoch never returns. So a lease that still has the epoch had it when it was renewed.
  const found = await commands.find("leases", { _id: { $in: shards } })
  const leases = new Map(found.map((lease) => [lease["_id"], leaseOf(lease)]))
  return held.map(({ shard, epoch }) => {
    const lease = leases.get(shard)
    return lease?.epoch === epoch && lease.node !== undefined ? { foreign: lease.foreign } : undefined
  })
}

const release = ({ commands }: MongodbConnection, held: HeldLeases) =>
  commands.update(
    "leases",
    held.map(({ shard, epoch }) => ({ q: { _id: shard, epoch }, u: { $unset: { node: "" } } })),
  )

/** If the name belongs to another process, the insert finds the name in use. */
const announce = async (
  { commands }: MongodbConnection,
  { node, address, isLeaving }: Announcement,
  process: string,
): Promise<boolean> => {
  const u = { $set: { address, is_leaving: isLeaving }, $inc: { beat: 1 } }
  return (await commands.update("members", [{ q: { _id: node, process }, u, upsert: true }])) === 1
}

const readMembers = async ({ commands }: MongodbConnection): Promise<ReadonlyArray<Member>> =>
  (await commands.find("members", {}, { sort: { _id: 1 } })).map((member) => ({
    node: member["_id"],
    address: member["address"],
    beat: member["beat"],
    process: member["process"],
    isLeaving: member["is_leaving"],
  }))

const remove = async (
  { commands }: MongodbConnection,
  { node, process, beat }: MemberEntry,
): Promise<boolean> =>
  (await commands.remove("members", { _id: node, process, ...(beat === undefined ? {} : { beat }) })) > 0

const leaseOf = ({ _id, epoch, counter, foreign, node }: Document): Lease => ({
  shard: _id,
  epoch,
  counter,
  foreign,
  ...(node === undefined ? {} : { node }),
})

export const mongodbLeases: LeaseWork<MongodbConnection> = {
  owners: readOwners,
  claim,
  renew,
  release,
  announce,
  members: readMembers,
  remove,
}
