// Which shards this process fires. The store is the only coordinator: a lease is a counter that its owner keeps raising.
// LeaseHolder claims, renews and releases leases. This module decides which of them to claim and which to hand over. A
// process asks whether it still trusts its lease before each attempt, so that one that was frozen starts nothing when it
// wakes.
//
// Two loops. One renews and then announces this node, so that its beat vouches for its renewals. The other looks
// at leases and members, works out which shards are meant for whom (Assignment), claims what is meant for this
// node and is free or whose owner is dead, and hands over what is meant for another that lives (Handover).
// Handovers are few at a time and never undone: what was released is anyone's again, by the next look.
//
// On SQLite a file lock proves a predecessor dead, so that a restart finds its shards free; a second process finds
// them held, sees no other member, and waits.
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
  /** Where other nodes reach this one; empty where there are none. */
  readonly address: string
}

export interface OwnershipParts extends OwnedShardsParts, Omit<LeaseHolderParts, "use"> {
  /** A shard was released for the node, which should look at once. */
  readonly onReleased?: (to: PeerNode) => Effect.Effect<void>
}

/** A node looks no more often than this, however often it is asked to. */
const looksApartMs = 10
const claimsAtOnce = 4
const handoversAtOnce = 4
/** A node that leaves has nothing else to do. */
const handoversAtOnceLeaving = 16
const retireAfterMs = 60_000
/** Past this a store that does not answer is left to itself. */
const askWithinMs = 1_000

export class Ownership implements ClusterView {
  readonly node: string
  /** How many shards the store has; unknown until it has answered. */
  shards: number | undefined
  readonly #holder: LeaseHolder
  readonly #owned: OwnedShards
  readonly #options: OwnershipOptions
  readonly #parts: OwnershipParts
  readonly #watch: ClusterWatch
  readonly #hasAnnounced = Latch.makeUnsafe(false)
  readonly #lookSignal = new Signal()
  /** Opened when a look that begins from now on has ended. */
  #nextLook = Latch.makeUnsafe(false)
  /** By shard: whom it is meant for. */
  #intended: ReadonlyArray<string | undefined> = []
  #mustLook = true
  /** The others are told that nothing is meant for this node any more. */
  #isLeaving = false
  /** They have been told: what this node has goes to them. */
  #givesAll = false
  #announcedNanos: bigint
  #lookedNanos: bigint
  #hasSaidThatItWaits = false

  constructor(options: OwnershipOptions, parts: OwnershipParts) {
    const now = parts.clock.monotonicTimeNanosUnsafe()
    this.node = options.node
    this.#options = options
    this.#parts = parts
    this.#holder = new LeaseHolder(options.node, options, {
      ...parts,
      use: {
        onHeld: (lease, trustedUntilNanos) =>
          this.#owned.take(lease, trustedUntilNanos, () => this.lookNow()),
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

  // ── What others ask ───────────────────────────────────────────────────────────────────────────

  get ownedCount(): number {
    return this.#owned.size
  }

  /** When the loop that lags behind the other last made progress. */
  get progressNanos(): bigint {
    const { renewedNanos } = this.#holder
    return renewedNanos < this.#lookedNanos ? renewedNanos : this.#lookedNanos
  }

  /** The loop of a shard that this node owns and takes writes of. */
  loopOf(shard: number): ShardLoop | undefined {
    const loop = this.#owned.get(shard)?.loop
    return loop === undefined || this.#parts.queue.takesNoMore(loop) ? undefined : loop
  }

  loops(): ReadonlyArray<ShardLoop> {
    return this.#owned.loops()
  }

  /** Shards of other nodes that live. */
  get ownedElsewhere(): number {
    return this.#watch.leases.filter(({ shard }) => this.#otherOwnerOf(shard) !== undefined).length
  }

  /** It owns nothing though something is meant for it, or though it cannot tell who owns the rest. */
  get isWaiting(): boolean {
    if (this.#owned.size > 0) return false
    return this.#intended.includes(this.node) || this.ownedElsewhere < (this.shards ?? 1)
  }

  /** How many nodes take part, this one included. */
  get nodes(): number {
    return this.#watch.others.length + 1
  }

  /** Whether another node is there to take what this one has. */
  get hasTakers(): boolean {
    return this.#watch.others.length > 0
  }

  ownerOf(shard: number): PeerNode | undefined {
    const owner = this.#otherOwnerOf(shard)
    return owner === undefined ? undefined : this.#peerOf(owner)
  }

  /** Someone released a shard that may be this node's. */
  lookNow(): void {
    this.#mustLook = true
    this.#lookSignal.raise()
  }

  /** Ends when a look that began after it has ended, or when the store takes too long. */
  readonly refresh: Effect.Effect<void> = Effect.suspend(() => {
    this.lookNow()
    return Effect.asVoid(Effect.timeoutOption(this.#nextLook.await, askWithinMs))
  })

  /** For operators. */
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
      // First the others must be able to see this node: else two that start at once would each take all.
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

  /** While this process was silent, another one has taken its name. Nobody could tell two nodes of one name from each other. */
  readonly #announceOrEnd: Effect.Effect<void, StoreError> = Effect.suspend(() =>
    Effect.flatMap(this.#announce, (isOwn) => (isOwn ? Effect.void : Effect.die(nameLost(this.node)))),
  )

  /** A node that owns all there is, alone, only looks for company, and as seldom as it renews. */
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

  // ── Coming and going of shards ────────────────────────────────────────────────────────────────

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

  /** Counts in `takenFrom` what silent nodes had. */
  #claim(lease: Lease, takenFrom: Map<string, number>): Effect.Effect<void> {
    const { node } = lease
    return Effect.matchEffect(this.#holder.claim(lease), {
      onSuccess: (isHeld) =>
        Effect.sync(() => {
          if (!isHeld || node === undefined || node === this.node) return
          takenFrom.set(node, (takenFrom.get(node) ?? 0) + 1)
        }),
      // One claim that fails does not keep the others from being made.
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
    // One that broke off would leave its shard at rest, and nobody to take it.
    const { guard } = this.#parts
    return Effect.forEach(begun, (owned) => Effect.forkChild(guard("ownership", this.#handOver(owned))), {
      discard: true,
    })
  })

  #handOver({ loop, goesTo }: OwnedShard): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      yield* comeToRest(loop, self.#parts.queue)
      // Lost meanwhile: it is no longer this node's to give.
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

  /** Nodes that are long silent are forgotten by whoever sees it first. */
  readonly #retireTheSilent: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const silent = this.#watch.silentFor(retireAfterMs, this.#parts.clock.monotonicTimeNanosUnsafe())
    return Effect.forEach(silent, (node) => this.#parts.leases.retire(node), { discard: true })
  })

  // ── Leaving ───────────────────────────────────────────────────────────────────────────────────

  /** Hands every shard to others as long as there are any to take them; ends when it has, or with the time. */
  leave(withinMs: number): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      self.#isLeaving = true
      // Else a shard might be released that the others still mean for this node.
      yield* Effect.ignore(self.#announce).pipe(Effect.timeoutOption(askWithinMs))
      self.#givesAll = true
      yield* self.refresh
      while (self.#owned.size > 0 && self.hasTakers) yield* Effect.sleep(looksApartMs)
    }).pipe(Effect.timeoutOption(withinMs), Effect.asVoid)
  }

  /**
   * Releases what is left, once nothing keeps it any more: what could not be settled is repeated by the next owner.
   * A store that does not answer within the bound is left to notice by itself.
   */
  releaseAll(withinMs: number): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      yield* self.#owned.abandonAll
      yield* self.#holder.releaseAll
      yield* Effect.catch(self.#parts.leases.retire(self.node), (error) =>
        Effect.logWarning(`this node stays a member until others forget it: ${error.message}`),
      )
    }).pipe(
      Effect.timeoutOrElse({
        duration: withinMs,
        orElse: () => Effect.logWarning("the store did not answer: its shards were not released"),
      }),
    )
  }

  /** Ends all loops and leaves the leases to run out, as a crash would. */
  get abandonAll(): Effect.Effect<void> {
    return this.#owned.abandonAll
  }

  // ── Within ────────────────────────────────────────────────────────────────────────────────────

  /** The other node that owns the shard and lives, as far as was seen. */
  #otherOwnerOf(shard: number): string | undefined {
    if (this.#owned.has(shard)) return undefined
    const owner = this.#watch.liveOwnerOf(shard)
    return owner === this.node ? undefined : owner
  }

  /** Where another node is reached, if it takes part and can be. */
  #peerOf(node: string): PeerNode | undefined {
    const address = this.#watch.memberOf(node)?.address ?? ""
    return address === "" ? undefined : { node, address }
  }

  readonly #sayIfWaiting: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isLeaving) return Effect.void
    const holders = new Set(
      this.#watch.leases.flatMap(({ node }) => (node === this.node ? [] : (node ?? []))),
    )
    const isWaiting = this.isWaiting && holders.size > 0
    if (isWaiting === this.#hasSaidThatItWaits) return Effect.void
    this.#hasSaidThatItWaits = isWaiting
    if (!isWaiting) return Effect.logInfo("the wait is over: this process fires now")
    const areMembers = [...holders].some((node) => this.#watch.memberOf(node) !== undefined)
    return Effect.logWarning(waitingText([...holders], areMembers))
  })
}

const nameLost = (node: string): Error =>
  new Error(
    `another process has taken the node name ${node} while this one was silent; give each node its own TIMER_NODE_NAME`,
  )
