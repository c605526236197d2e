// Decides which nodes are alive. Leases and members are counters in the store that their nodes keep incrementing. This
// class measures them with this node's own monotonic clock, from the receipt of the read that first showed a value. A
// counter that has not changed for the lease time is silent. No wall clocks are compared. This class reads neither a
// clock nor the store: its caller passes in what was read, and when.
//
// Time in which this node could not read counts only a little. If the store is unreachable for longer than the lease
// time, no node can increment its counter, and that does not make it dead. If this time counted, all shards would
// change owners when the store is back, and everything delivered meanwhile would be delivered again.
//
// Silence only decides who may claim, and the store fences claims. An error here costs a move, never a timer.
import type { Lease, Member, SeenBeat } from "../../ports/ShardLeases.ts"

export interface ClusterWatchOptions {
  readonly node: string
  readonly leaseMs: number
}

export interface WatchedMember extends Member {
  /** When the current beat was first seen. */
  readonly sinceNanos: bigint
  /** How many beats were seen in a row, without a silence. */
  readonly beatsSeen: number
  /** The member was there when this node started. */
  readonly wasHereFirst: boolean
  readonly isLive: boolean
}

interface WatchedLease {
  readonly lease: Lease
  readonly sinceNanos: bigint
  readonly isSilent: boolean
  readonly hasMoved: boolean
}

/** The longest part of the lease time that counts between two reads. So slow reads only delay a takeover. */
const countedBetweenLooks = 1 / 5

/** A new member counts from its second beat on, because it may crash after its first. */
const beatsToBeCounted = 2

export class ClusterWatch {
  readonly #options: ClusterWatchOptions
  #watchedLeases: ReadonlyArray<WatchedLease> = []
  #watchedMembers = new Map<string, WatchedMember>()
  #hasSeenMembers = false
  #leasesSeenNanos: bigint | undefined
  #membersSeenNanos: bigint | undefined
  #unsignedSeenNanos: bigint | undefined

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
    if (members.some(({ lacksSignatures }) => lacksSignatures === true)) this.#unsignedSeenNanos = seenNanos
  }

  /** By shard, from the last read. */
  get leases(): ReadonlyArray<Lease> {
    return this.#watchedLeases.map(({ lease }) => lease)
  }

  get members(): ReadonlyArray<WatchedMember> {
    return [...this.#watchedMembers.values()]
  }

  /** When a member that does not sign its calls was last seen. */
  get unsignedSeenNanos(): bigint | undefined {
    return this.#unsignedSeenNanos
  }

  memberOf(node: string): WatchedMember | undefined {
    return this.#watchedMembers.get(node)
  }

  /** Whether the shard's lease has not changed for the lease time. */
  isSilent(shard: number): boolean {
    return this.#watchedLeases[shard]?.isSilent ?? false
  }

  /** Whether the shard's lease has changed since it was first seen, by a renewal or a claim. */
  hasMoved(shard: number): boolean {
    return this.#watchedLeases[shard]?.hasMoved ?? false
  }

  /** The node that holds the shard, if its lease shows that it is alive. */
  liveOwnerOf(shard: number): string | undefined {
    const watched = this.#watchedLeases[shard]
    return watched === undefined || watched.isSilent ? undefined : watched.lease.node
  }

  /** The other nodes that shards can be assigned to. */
  get others(): ReadonlyArray<WatchedMember> {
    return this.members.filter((member) => member.node !== this.#options.node && takesPart(member))
  }

  /** Whether a shard may be handed to the node: the node has sent a beat since it was first seen. */
  mayBeGiven(node: string): boolean {
    const member = this.#watchedMembers.get(node)
    return member !== undefined && takesPart(member) && member.beatsSeen >= beatsToBeCounted
  }

  /** Members that have been silent for so long that they can be forgotten. */
  silentFor(ms: number, nowNanos: bigint): ReadonlyArray<WatchedMember> {
    return this.members.filter(
      ({ node, sinceNanos }) => node !== this.#options.node && nowNanos - sinceNanos >= nanosOf(ms),
    )
  }

  #watchedMember(member: Member, before: WatchedMember | undefined, seenNanos: bigint): WatchedMember {
    if (before === undefined) {
      const wasHereFirst = !this.#hasSeenMembers
      return { ...member, sinceNanos: seenNanos, beatsSeen: 1, wasHereFirst, isLive: true }
    }
    const { wasHereFirst } = before
    if (isSameBeat(before, member)) {
      const isLive = !this.#isOver(before.sinceNanos, seenNanos)
      return { ...before, ...member, isLive }
    }
    // A member that was silent counts as new.
    const beatsSeen = before.isLive ? before.beatsSeen + 1 : 1
    return {
      ...member,
      sinceNanos: seenNanos,
      beatsSeen,
      wasHereFirst: wasHereFirst && before.isLive,
      isLive: true,
    }
  }

  /** How much of the time since the last read must not count. */
  #blindFor(beforeNanos: bigint | undefined, nowNanos: bigint): bigint {
    if (beforeNanos === undefined) return 0n
    const uncounted = nowNanos - beforeNanos - nanosOf(this.#options.leaseMs * countedBetweenLooks)
    return uncounted > 0n ? uncounted : 0n
  }

  #isOver(sinceNanos: bigint, nowNanos: bigint): boolean {
    return nowNanos - sinceNanos >= nanosOf(this.#options.leaseMs)
  }
}

/** A process that has just taken the name starts counting again, so its beat alone may be the same. */
export const isSameBeat = (before: SeenBeat, now: SeenBeat): boolean =>
  before.beat === now.beat && before.process === now.process

export const nanosOf = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n

/**
 * Members that were there before this node count as alive as long as their leases do. So a node that starts leaves them
 * their share. Later members count from their second beat on.
 */
const takesPart = ({ isLive, isLeaving, wasHereFirst, beatsSeen }: WatchedMember): boolean =>
  isLive && !isLeaving && (wasHereFirst || beatsSeen >= beatsToBeCounted)
