// Shard leases and members as documents. A claim takes the lease, then fences the shard: the shard's document gets the
// new epoch, so no commit of the old owner matches it any more. Then the claim applies what the old owner committed
// last, and only then it is answered.
import { randomUUID } from "node:crypto"
import type { Commands, Document } from "@punctual/documents/mongodb/Commands"
import type { Announcement, Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"
import { hasEnded, ownIdentity } from "../ProcessIdentity.ts"
import type { Commits } from "./Commits.ts"

export const readOwners = async (commands: Commands): Promise<ReadonlyArray<Lease>> =>
  (await commands.find("leases", {}, { sort: { _id: 1 } })).map(leaseOf)

export const claim = async (
  commands: Commands,
  commits: Commits,
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

export const renew = async (
  commands: Commands,
  commits: Commits,
  held: ReadonlyArray<{ readonly shard: number; readonly epoch: number }>,
): Promise<ReadonlyArray<{ readonly foreign: number } | undefined>> => {
  if (held.length === 0) return []
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

export const release = async (commands: Commands, shard: number, epoch: number): Promise<void> => {
  await commands.update("leases", [{ q: { _id: shard, epoch }, u: { $unset: { node: "" } } }])
}

/** False if the name belongs to another process. Then the insert finds the name in use. */
export const announce = async (
  commands: Commands,
  { node, address, isLeaving }: Announcement,
): Promise<boolean> => {
  const u = { $set: { address, is_leaving: isLeaving }, $inc: { beat: 1 } }
  return (
    (await commands.update("members", [{ q: { _id: node, process: processHere() }, u, upsert: true }])) === 1
  )
}

/** Frees the shards of nodes that ran on this machine and have ended. Returns their names. */
export const buryTheDead = async (commands: Commands): Promise<ReadonlyArray<string>> => {
  const dead = (await commands.find("members", {})).filter(({ process }) => hasEnded(process))
  for (const { _id, process } of dead) {
    if ((await commands.remove("members", { _id, process })) === 0) continue
    await commands.update("leases", [{ q: { node: _id }, u: { $unset: { node: "" } }, multi: true }])
  }
  return dead.map(({ _id }) => _id as unknown as string)
}

export const readMembers = async (commands: Commands): Promise<ReadonlyArray<Member>> =>
  (await commands.find("members", {}, { sort: { _id: 1 } })).map((member) => ({
    node: member["_id"],
    address: member["address"],
    beat: member["beat"],
    process: member["process"],
    isLeaving: member["is_leaving"],
  }))

export const retire = async (commands: Commands, node: string): Promise<void> => {
  await commands.remove("members", { _id: node, process: processHere() })
}

export const retireSilent = async (commands: Commands, { node, process, beat }: SeenBeat): Promise<void> => {
  await commands.remove("members", { _id: node, process, beat })
}

const processHere = (): string => ownIdentity() ?? unknownIdentity

/** Used if the identity of this process cannot be read. No other node concludes from it that the process has ended. */
const unknownIdentity = `unknown|${randomUUID()}`

const leaseOf = ({ _id, epoch, counter, foreign, node }: Document): Lease => ({
  shard: _id,
  epoch,
  counter,
  foreign,
  ...(node === undefined ? {} : { node }),
})
