// Decides which shards this process fires. The store is the only coordinator: a lease is a counter that its owner keeps
// incrementing. LeaseHolder claims, renews and releases leases. This module decides which leases to claim and which to
// hand over. Before each attempt, a process checks whether it still trusts its lease. So a process that was frozen
// starts nothing when it wakes.
//
// There are two loops. One renews leases and then announces this node, so that a beat proves that the leases were
// renewed. The other looks at leases and members, and computes which shards are assigned to which node (Assignment). It
// claims shards that are assigned to this node and are free or have a dead owner. It hands over shards that are
// assigned to another live node (Handover). Only a few handovers run at a time, and none is undone: a released shard
// can be claimed by any node after its next look.
//
// On SQLite a file lock proves that the previous process is dead, so a restart finds its shards free. A second process
// finds them held, sees no other member, and waits.
import { Effect, Latch } from "effect"
import type { PeerNode } from "../../ports/Peers.ts"
import type { Lease } from "../../ports/ShardLeases.ts"
import type { StoreError } from "../../ports/TimerStore.ts"
import { Signal } from "../Signal.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"
import { assign } from "./Assignment.ts"
import { clusterState, takenOverText, waitingText } from "./ClusterReport.ts"
import type { ClusterState, ClusterView } from "./ClusterView.ts"
import { type ClusterWatch, nanosOf } from "./ClusterWatch.ts"
import { comeToRest } from "./Handover.ts"
import { LeaseHolder, type LeaseHolderParts, type LeaseTimes, lookEveryMs } from "./LeaseHolder.ts"
import { type OwnedShard, OwnedShards, type OwnedShardsParts } from "./OwnedShards.ts"

export interface OwnershipOptions extends LeaseTimes {
  readonly node: string
  /** The address at which other nodes reach this one. Empty if there are none. */
  readonly address: string
}

export interface OwnershipParts extends OwnedShardsParts, Omit<LeaseHolderParts, "use"> {
  /** A shard was released for the node, which should look at once. */
  readonly onReleased?: (to: PeerNode) => Effect.Effect<void>
}

/** The shortest time between two looks of a node, no matter how often it is asked to look. */
const looksApartMs = 10
const claimsAtOnce = 4
const handoversAtOnce = 4
/** A leaving node has nothing else to do. */
const handoversAtOnceLeaving = 16
const retireAfterMs = 60_000
/** After this time the node stops waiting for a store that does not answer. */
const askWithinMs = 1_000

/**
 * Why a node owns no shard yet: another process holds them; nobody does, and the node is about to claim them for the
 * first time; or it has lost those that it had, and claims them again.
 */
export type WaitsFor = "otherProcess" | "firstClaim" | "nextClaim"

export class Ownership implements ClusterView {
  readonly node: string
  /** How many shards the store has. `undefined` until the store has answered. */
  shards: number | undefined
  readonly #holder: LeaseHolder
  readonly #owned: OwnedShards
  readonly #options: OwnershipOptions
  readonly #parts: OwnershipParts
  readonly #watch: ClusterWatch
  readonly #hasAnnounced = Latch.makeUnsafe(false)
  readonly #lookSignal = new Signal()
  /** Opened when a look that begins after this point has ended. */
  #nextLook = Latch.makeUnsafe(false)
  /** By shard: the node that it is assigned to. */
  #intended: ReadonlyArray<string | undefined> = []
  #mustLook = true
  /** The other nodes are told to assign nothing to this node. */
  #isLeaving = false
  /** The other nodes have been told, so this node hands all its shards to them. */
  #givesAll = false
  #announcedNanos: bigint
  #lookedNanos: bigint
  #hasSaidThatItWaits = false
  #hasOwned = false

  constructor(options: OwnershipOptions, parts: OwnershipParts) {
    const now = parts.clock.monotonicTimeNanosUnsafe()
    this.node = options.node
    this.#options = options
    this.#parts = parts
    this.#holder = new LeaseHolder(options.node, options, {
      ...parts,
      use: {
        onHeld: (lease, trustedUntilNanos) => {
          this.#hasOwned = true
          return this.#owned.take(lease, trustedUntilNanos, () => this.lookNow())
        },
        onRenewed: (held, trustedUntilNanos, foreign) =>
          this.#owned.renewed(held, trustedUntilNanos, foreign),
        onLost: (held) => this.#owned.lose(held),
      },
    })
    this.#owned = new OwnedShards(this.#holder, parts)
    this.#watch = this.#holder.watch
    this.#announcedNanos = now
    this.#lookedNanos = now
  }

  // ── Queries ───────────────────────────────────────────────────────────────────────────────────

  get ownedCount(): number {
    return this.#owned.size
  }

  /** When the slower of the two loops last made progress. */
  get progressNanos(): bigint {
    const { renewedNanos } = this.#holder
    return renewedNanos < this.#lookedNanos ? renewedNanos : this.#lookedNanos
  }

  /** The loop of a shard that this node owns and accepts writes for. */
  loopOf(shard: number): ShardLoop | undefined {
    const loop = this.#owned.get(shard)?.loop
    return loop === undefined || this.#parts.queue.takesNoMore(loop) ? undefined : loop
  }

  loops(): ReadonlyArray<ShardLoop> {
    return this.#owned.loops()
  }

  /** Shards that other live nodes own. */
  get ownedElsewhere(): number {
    return this.#watch.leases.filter(({ shard }) => this.#otherOwnerOf(shard) !== undefined).length
  }

  /** The node owns no shard although some are assigned to it, or although it does not know who owns the rest. */
  get isWaiting(): boolean {
    if (this.#owned.size > 0) return false
    return this.#intended.includes(this.node) || this.ownedElsewhere < (this.shards ?? 1)
  }

  /** What this node waits for. `undefined` if it does not wait. */
  get waitsFor(): WaitsFor | undefined {
    if (!this.isWaiting) return undefined
    if (this.#otherHolders.size > 0) return "otherProcess"
    return this.#hasOwned ? "nextClaim" : "firstClaim"
  }

  /** How many nodes participate, including this one. */
  get nodes(): number {
    return this.#watch.others.length + 1
  }

  /** Whether another node can take the shards of this one. */
  get hasTakers(): boolean {
    return this.#watch.others.length > 0
  }

  ownerOf(shard: number): PeerNode | undefined {
    const owner = this.#otherOwnerOf(shard)
    return owner === undefined ? undefined : this.#peerOf(owner)
  }

  /** Another node released a shard that may be assigned to this one. */
  lookNow(): void {
    this.#mustLook = true
    this.#lookSignal.raise()
  }

  /** Resolves when a look that began after this call has ended, or when the store takes too long. */
  readonly refresh: Effect.Effect<void> = Effect.suspend(() => {
    this.lookNow()
    return Effect.asVoid(Effect.timeoutOption(this.#nextLook.await, askWithinMs))
  })

  /** The cluster as operators see it. */
  state(nowMs: number): ClusterState {
    const { node } = this
    const [watch, announcedNanos, isLeaving] = [this.#watch, this.#announcedNanos, this.#isLeaving]
    return clusterState({
      node,
      watch,
      announcedNanos,
      isLeaving,
      nowMs,
      nowNanos: this.#parts.clock.monotonicTimeNanosUnsafe(),
      loopOf: (shard) => this.#owned.get(shard)?.loop,
    })
  }

  // ── The loops ─────────────────────────────────────────────────────────────────────────────────

  readonly keepForever: Effect.Effect<never> = Effect.suspend(() =>
    Effect.raceFirst(
      this.#holder.renewForever(Effect.andThen(this.#owned.endOrphans, this.#announceOrEnd)),
      this.#lookForever,
    ),
  )

  readonly #lookForever: Effect.Effect<never> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      // The other nodes must see this node first. Otherwise two nodes that start together would each claim all shards.
      yield* self.#hasAnnounced.await
      for (;;) {
        const look = self.#nextLook
        self.#nextLook = Latch.makeUnsafe(false)
        yield* Effect.catch(self.#look, (error) => {
          self.#mustLook = true
          return self.#holder.afterFailure(error)
        })
        look.openUnsafe()
        yield* Effect.sleep(looksApartMs)
        yield* self.#lookSignal.waitAtMost(lookEveryMs - looksApartMs)
      }
    })
  })

  readonly #announce: Effect.Effect<boolean, StoreError> = Effect.suspend(() => {
    const { node, address } = this.#options
    return Effect.map(this.#parts.leases.announce({ node, address, isLeaving: this.#isLeaving }), (isOwn) => {
      if (!isOwn) return false
      this.#announcedNanos = this.#parts.clock.monotonicTimeNanosUnsafe()
      this.#hasAnnounced.openUnsafe()
      return true
    })
  })

  /**
   * Announces this node. Ends the process if another one took its name while this one was silent, because two nodes
   * with one name could not be distinguished.
   */
  readonly #announceOrEnd: Effect.Effect<void, StoreError> = Effect.suspend(() =>
    Effect.flatMap(this.#announce, (isOwn) => (isOwn ? Effect.void : Effect.die(nameLost(this.node)))),
  )

  /** A node that is alone and owns all shards only looks for new members, as rarely as it renews. */
  readonly #look: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const self = this
    const { clock, leases } = this.#parts
    return Effect.gen(function* () {
      yield* self.#owned.endOrphans
      const nowNanos = clock.monotonicTimeNanosUnsafe()
      const isAlone = self.#owned.size === self.shards && self.#watch.members.length <= 1
      const isAtRest = isAlone && !self.#mustLook
      if (isAtRest && nowNanos - self.#lookedNanos < nanosOf(self.#options.renewEveryMs)) return
      self.#mustLook = false
      self.#watch.noteMembers(yield* leases.members, clock.monotonicTimeNanosUnsafe())
      if (!isAtRest || self.#watch.members.length > 1) {
        self.shards = (yield* self.#holder.look).length
        self.#intended = self.#assignment(self.shards)
        yield* self.#claimWhatIsMeant
        yield* self.#handOverWhatIsNot
        yield* self.#holder.releaseGivenUp
        yield* self.#retireTheSilent
        yield* self.#sayIfWaiting
      }
      self.#lookedNanos = clock.monotonicTimeNanosUnsafe()
    })
  })

  #assignment(shards: number): ReadonlyArray<string | undefined> {
    const members = this.#watch.others.map(({ node }) => node)
    if (!this.#givesAll) members.push(this.node)
    const owners = Array.from({ length: shards }, (_, shard) => {
      const owned = this.#owned.get(shard)
      return owned === undefined ? this.#otherOwnerOf(shard) : (owned.goesTo ?? this.node)
    })
    return assign({ shards, members, owners })
  }

  // ── Claims and handovers ──────────────────────────────────────────────────────────────────────

  readonly #claimWhatIsMeant: Effect.Effect<void> = Effect.suspend(() => {
    const claims = this.#watch.leases.filter(({ shard }) => this.#intended[shard] === this.node)
    const takenFrom = new Map<string, number>()
    const claimAll = Effect.forEach(
      claims.filter((lease) => this.#holder.mayClaim(lease)),
      (lease) => this.#claim(lease, takenFrom),
      { concurrency: claimsAtOnce, discard: true },
    )
    return Effect.andThen(
      claimAll,
      Effect.suspend(() =>
        Effect.forEach(takenFrom, ([node, shards]) => Effect.logWarning(takenOverText(node, shards)), {
          discard: true,
        }),
      ),
    )
  })

  /** Counts in `takenFrom` the shards that silent nodes had. */
  #claim(lease: Lease, takenFrom: Map<string, number>): Effect.Effect<void> {
    const { node } = lease
    return Effect.matchEffect(this.#holder.claim(lease), {
      onSuccess: (isHeld) =>
        Effect.sync(() => {
          if (!isHeld || node === undefined || node === this.node) return
          takenFrom.set(node, (takenFrom.get(node) ?? 0) + 1)
        }),
      // One failed claim does not prevent the others.
      onFailure: (error) => this.#holder.afterFailure(error),
    })
  }

  readonly #handOverWhatIsNot: Effect.Effect<void> = Effect.suspend(() => {
    const all = this.#owned.all()
    const mostAtOnce = this.#givesAll ? handoversAtOnceLeaving : handoversAtOnce
    let free = mostAtOnce - all.filter(({ goesTo }) => goesTo !== undefined).length
    const begun: Array<OwnedShard> = []
    for (const owned of all) {
      const to = this.#intended[owned.loop.shard]
      if (owned.goesTo !== undefined || to === undefined || to === this.node) continue
      if (free === 0 || !this.#watch.mayBeGiven(to)) continue
      free--
      owned.goesTo = to
      begun.push(owned)
    }
    // If the handover broke, its shard would stay at rest and no node would take it.
    const { guard } = this.#parts
    return Effect.forEach(begun, (owned) => Effect.forkChild(guard("ownership", this.#handOver(owned))), {
      discard: true,
    })
  })

  #handOver({ loop, goesTo }: OwnedShard): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      yield* comeToRest(loop, self.#parts.queue)
      // The shard was lost meanwhile, so this node cannot hand it over.
      if (self.#owned.get(loop.shard)?.loop !== loop) return
      yield* self.#owned.giveUp(loop)
      self.#parts.metrics.ownershipChanged("handedOver")
      yield* self.#holder.release(loop)
      yield* Effect.logInfo(`shard ${loop.shard} was handed to ${goesTo}`)
      self.lookNow()
      const to = goesTo === undefined ? undefined : self.#peerOf(goesTo)
      if (to === undefined || self.#parts.onReleased === undefined) return
      yield* Effect.timeoutOption(self.#parts.onReleased(to), askWithinMs)
    })
  }

  /** Removes members that have been silent for long. The first node that notices this removes the member. */
  readonly #retireTheSilent: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const silent = this.#watch.silentFor(retireAfterMs, this.#parts.clock.monotonicTimeNanosUnsafe())
    return Effect.forEach(silent, (member) => this.#parts.leases.retireSilent(member), { discard: true })
  })

  // ── Leaving ───────────────────────────────────────────────────────────────────────────────────

  /** Hands all shards over while there are other nodes to take them. Resolves when done, or when the time is over. */
  leave(withinMs: number): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      self.#isLeaving = true
      // Otherwise this node could release a shard that the others still assign to it.
      yield* Effect.ignore(self.#announce).pipe(Effect.timeoutOption(askWithinMs))
      self.#givesAll = true
      yield* self.refresh
      while (self.#owned.size > 0 && self.hasTakers) yield* Effect.sleep(looksApartMs)
    }).pipe(Effect.timeoutOption(withinMs), Effect.asVoid)
  }

  /**
   * Releases the remaining shards after their loops have ended. The next owner repeats attempts that could not be
   * settled. If the store does not answer within the bound, the leases expire by themselves.
   */
  releaseAll(withinMs: number): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      yield* self.#owned.abandonAll
      yield* self.#holder.releaseAll
      yield* Effect.catch(self.#parts.leases.retire(self.node), (error) =>
        Effect.logWarning(`this node stays a member until other nodes remove it: ${error.message}`),
      )
    }).pipe(
      Effect.timeoutOrElse({
        duration: withinMs,
        orElse: () => Effect.logWarning("the store did not answer: the shards were not released"),
      }),
    )
  }

  /** Ends all loops and lets the leases expire, like a crash. */
  get abandonAll(): Effect.Effect<void> {
    return this.#owned.abandonAll
  }

  // ── Within ────────────────────────────────────────────────────────────────────────────────────

  /** The other live node that owns the shard, as far as this node has seen. */
  #otherOwnerOf(shard: number): string | undefined {
    if (this.#owned.has(shard)) return undefined
    const owner = this.#watch.liveOwnerOf(shard)
    return owner === this.node ? undefined : owner
  }

  /** The other nodes that hold shards, alive or not, as far as this node has seen. */
  get #otherHolders(): ReadonlySet<string> {
    return new Set(this.#watch.leases.flatMap(({ node }) => (node === this.node ? [] : (node ?? []))))
  }

  /** Another node, if it is a member and has an address. */
  #peerOf(node: string): PeerNode | undefined {
    const member = this.#watch.memberOf(node)
    if (member === undefined || member.address === "") return undefined
    const { address, lacksSignatures } = member
    return { node, address, ...(lacksSignatures === undefined ? {} : { lacksSignatures }) }
  }

  readonly #sayIfWaiting: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isLeaving) return Effect.void
    const holders = this.#otherHolders
    const isWaiting = this.isWaiting && holders.size > 0
    if (isWaiting === this.#hasSaidThatItWaits) return Effect.void
    this.#hasSaidThatItWaits = isWaiting
    if (!isWaiting) return Effect.logInfo("the wait is over: this process fires now")
    const areMembers = [...holders].some((node) => this.#watch.memberOf(node) !== undefined)
    const text = waitingText([...holders], areMembers)
    // A node that joins a cluster waits until the others hand over its shards: that is normal.
    return areMembers ? Effect.logInfo(text) : Effect.logWarning(text)
  })
}

const nameLost = (node: string): Error =>
  new Error(
    `another process took the node name ${node} while this one did not renew it; give each node its own TIMER_NODE_NAME`,
  )
