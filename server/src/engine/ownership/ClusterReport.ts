// What operators see of ownership: the cluster as this node sees it, and the texts for the log.

import type { ShardLoop } from "../window/ShardLoop.ts"
import type { ClusterState } from "./ClusterView.ts"
import type { ClusterWatch } from "./ClusterWatch.ts"

export interface Seen {
  readonly node: string
  readonly watch: Pick<ClusterWatch, "members" | "leases" | "unsignedSeenNanos">
  /** When this node last announced itself. */
  readonly announcedNanos: bigint
  readonly isLeaving: boolean
  readonly nowMs: number
  readonly nowNanos: bigint
  /** The loop of a shard that this node fires. */
  readonly loopOf: (shard: number) => Pick<ShardLoop, "epoch" | "window"> | undefined
}

export const clusterState = (seen: Seen): ClusterState => {
  const { nowMs } = seen
  const ageMs = (sinceNanos: bigint) => Math.round(Number(seen.nowNanos - sinceNanos) / 1e6)
  const { unsignedSeenNanos } = seen.watch
  return {
    node: seen.node,
    ...(unsignedSeenNanos === undefined ? {} : { unsignedAgeMs: ageMs(unsignedSeenNanos) }),
    members: seen.watch.members.map(({ node, address, isLeaving, isLive, sinceNanos, lacksSignatures }) =>
      node === seen.node
        ? {
            node,
            address,
            beatAgeMs: ageMs(seen.announcedNanos),
            isLeaving: seen.isLeaving,
            isLive: true,
          }
        : {
            node,
            address,
            beatAgeMs: ageMs(sinceNanos),
            isLeaving,
            isLive,
            ...(lacksSignatures === undefined ? {} : { lacksSignatures }),
          },
    ),
    shards: seen.watch.leases.map(({ shard, epoch, node }) => {
      const loop = seen.loopOf(shard)
      if (loop !== undefined) {
        const lagMs = nowMs - (loop.window.oldestDue(nowMs) ?? nowMs)
        return { shard, epoch: loop.epoch, isMine: true, owner: seen.node, lagMs }
      }
      // A lease in this node's name for a shard that it does not fire counts as free.
      const isOthers = node !== undefined && node !== seen.node
      return { shard, epoch, isMine: false, ...(isOthers ? { owner: node } : {}) }
    }),
  }
}

/** One line for each node and takeover, no matter how many shards it had. */
export const takenOverText = (node: string, shards: number): string =>
  `${node} has stopped renewing: this process has taken over ${shards === 1 ? "a shard" : `${shards} shards`} of it`

export const waitingText = (holders: ReadonlyArray<string>, areMembers: boolean): string => {
  const names = holders.join(", ")
  const [hold, areGone] = holders.length === 1 ? ["holds", "it is gone"] : ["hold", "they are gone"]
  return areMembers
    ? `waiting: ${names} still ${hold} shards that are assigned to this process`
    : `waiting: ${names} ${hold} the store; this process takes over when ${areGone}`
}
