// How this node tells who lives. Leases and members are counters in the store that their nodes keep raising; here
// they are watched by this node's own monotonic clock, counted from the receipt of the read that first showed a
// value, and whatever has not moved for the lease time is silent. No wall clocks are compared, and nothing here
// reads a clock or the store: it is told what was read, and when.
//
// Time in which this node could not look counts little: a store that was away for longer than the lease time has kept
// everyone from raising anything, and nobody is dead for that. Were it counted, all shards would change hands when it
// is back, and whatever was delivered meanwhile would be delivered again.
//
// Silence decides about claims, which the store fences; a mistake here costs a move, never a timer.
import type { Lease, Member } from "../../ports/ShardLeases.ts"

export interface ClusterWatchOptions {
  readonly node: string
  readonly leaseMs: number
}

export interface WatchedMember extends Member {
  /** When its present beat was first seen. */
  readonly sinceNanos: bigint
  /** How many of its beats were seen without a silence among them. */
  readonly beatsSeen: number
  /** It was there when this node came. */
  readonly wasHereFirst: boolean
  readonly isLive: boolean
}

interface WatchedLease {
  readonly lease: Lease
  readonly sinceNanos: bigint
  readonly isSilent: boolean
  readonly hasMoved: boolean
}

/** What part of the lease time counts at most between two looks: so slow looks delay a takeover, and no more. */
const countedBetweenLooks = 1 / 5

/** Someone who came is acted upon from its second beat on: one may be all that it had in it. */
const beatsToBeCounted = 2

export class ClusterWatch {
  readonly #options: ClusterWatchOptions
  #watchedLeases: ReadonlyArray<WatchedLease> = []
  #watchedMembers = new Map<string, WatchedMember>()
  #hasSeenMembers = false
  #leasesSeenNanos: bigint | undefined
  #membersSeenNanos: bigint | undefined

  constructor(options: ClusterWatchOptions) {
    this.#options = options
  }

  noteLeases(leases: ReadonlyArray<Lease>, seenNanos: bigint): void {
    const blindNanos = this.#blindFor(this.#leasesSeenNanos, seenNanos)
    this.#leasesSeenNanos = seenNanos
    this.#watchedLeases = leases.map((lease, shard) => {
      const before = this.#watchedLeases[shard]
      const isSame = before?.lease.epoch === lease.epoch && before.lease.counter === lease.counter
      const sinceNanos = isSame ? before.sinceNanos + blindNanos : seenNanos
      const hasMoved = before !== undefined && (before.hasMoved || !isSame)
      return { lease, sinceNanos, isSilent: this.#isOver(sinceNanos, seenNanos), hasMoved }
    })
  }

  noteMembers(members: ReadonlyArray<Member>, seenNanos: bigint): void {
    const blindNanos = this.#blindFor(this.#membersSeenNanos, seenNanos)
    this.#membersSeenNanos = seenNanos
    this.#watchedMembers = new Map(
      members.map((member) => {
        const before = this.#watchedMembers.get(member.node)
        const shifted =
          before === undefined ? undefined : { ...before, sinceNanos: before.sinceNanos + blindNanos }
        return [member.node, this.#watchedMember(member, shifted, seenNanos)]
      }),
    )
    this.#hasSeenMembers = true
  }

  /** As last read, by shard. */
  get leases(): ReadonlyArray<Lease> {
    return this.#watchedLeases.map(({ lease }) => lease)
  }

  get members(): ReadonlyArray<WatchedMember> {
    return [...this.#watchedMembers.values()]
  }

  memberOf(node: string): WatchedMember | undefined {
    return this.#watchedMembers.get(node)
  }

  /** Whether the shard's lease has stood still for the lease time. */
  isSilent(shard: number): boolean {
    return this.#watchedLeases[shard]?.isSilent ?? false
  }

  /** Whether the shard's lease has moved since it was first seen: someone has renewed or claimed it. */
  hasMoved(shard: number): boolean {
    return this.#watchedLeases[shard]?.hasMoved ?? false
  }

  /** Who holds the shard and is alive, by its lease. */
  liveOwnerOf(shard: number): string | undefined {
    const watched = this.#watchedLeases[shard]
    return watched === undefined || watched.isSilent ? undefined : watched.lease.node
  }

  /** The other nodes that shards may be meant for. */
  get others(): ReadonlyArray<WatchedMember> {
    return this.members.filter((member) => member.node !== this.#options.node && takesPart(member))
  }

  /** Whether a shard may be handed to the node: it has been seen to beat since it was first seen. */
  mayBeGiven(node: string): boolean {
    const member = this.#watchedMembers.get(node)
    return member !== undefined && takesPart(member) && member.beatsSeen >= beatsToBeCounted
  }

  /** Members that have not beaten for so long that nobody need remember them. */
  silentFor(ms: number, nowNanos: bigint): ReadonlyArray<string> {
    return this.members.flatMap(({ node, sinceNanos }) =>
      node !== this.#options.node && nowNanos - sinceNanos >= nanosOf(ms) ? [node] : [],
    )
  }

  #watchedMember(member: Member, before: WatchedMember | undefined, seenNanos: bigint): WatchedMember {
    if (before === undefined) {
      const wasHereFirst = !this.#hasSeenMembers
      return { ...member, sinceNanos: seenNanos, beatsSeen: 1, wasHereFirst, isLive: true }
    }
    const { wasHereFirst } = before
    if (before.beat === member.beat) {
      const isLive = !this.#isOver(before.sinceNanos, seenNanos)
      return { ...before, ...member, isLive }
    }
    // After a silence it comes anew.
    const beatsSeen = before.isLive ? before.beatsSeen + 1 : 1
    return {
      ...member,
      sinceNanos: seenNanos,
      beatsSeen,
      wasHereFirst: wasHereFirst && before.isLive,
      isLive: true,
    }
  }

  /** How much of the time since the look before must not count. */
  #blindFor(beforeNanos: bigint | undefined, nowNanos: bigint): bigint {
    if (beforeNanos === undefined) return 0n
    const uncounted = nowNanos - beforeNanos - nanosOf(this.#options.leaseMs * countedBetweenLooks)
    return uncounted > 0n ? uncounted : 0n
  }

  #isOver(sinceNanos: bigint, nowNanos: bigint): boolean {
    return nowNanos - sinceNanos >= nanosOf(this.#options.leaseMs)
  }
}

export const nanosOf = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n

/**
 * Those that were here first are taken to live for as long as their leases are: a node that starts leaves them
 * their part. Those that come later count from their second beat on.
 */
const takesPart = ({ isLive, isLeaving, wasHereFirst, beatsSeen }: WatchedMember): boolean =>
  isLive && !isLeaving && (wasHereFirst || beatsSeen >= beatsToBeCounted)
