// Which shards this process fires. The store is the only coordinator: a lease is a counter that its owner
// keeps raising. Whoever wants a shard watches the counter by its own monotonic clock; unchanged for the
// lease time, counted from the receipt of the read that first showed it, its owner is dead, and the claim
// names the counter that was watched. An owner in turn stops trusting its lease a margin before anyone
// could take it, counted from the start of its last successful renewal, and asks that before each attempt:
// a process that was frozen starts nothing when it wakes.
//
// One node claims all shards that are free or whose owner is dead. On SQLite a file lock proves a
// predecessor dead, so that a restart finds its shards free; a second process finds them held, and waits.
import { type Clock, Effect, Exit, Scope } from "effect"
import type { Lease, ShardLeases } from "../ports/ShardLeases.ts"
import type { StoreError } from "../ports/TimerStore.ts"
import type { Guard } from "./Guard.ts"
import type { ShardLoop } from "./ShardLoop.ts"
import type { WriteQueue } from "./WriteQueue.ts"

export interface OwnershipOptions {
  readonly node: string
  readonly leaseMs: number
  readonly renewEveryMs: number
  /** How long before a lease could be taken its owner stops trusting it. */
  readonly marginMs: number
}

export interface OwnershipParts {
  readonly leases: ShardLeases["Service"]
  readonly queue: WriteQueue
  readonly clock: Clock.Clock
  /** Makes the loop of a shard that was claimed. */
  readonly makeLoop: (lease: Lease, trustedUntilNanos: bigint) => ShardLoop
  /** Runs a loop that must not end: a defect in it is reported as fatal. */
  readonly guard: Guard
  /** The number of owned shards changed: shares of the node's bounds change with it. */
  readonly onOwnedChanged: () => void
}

interface Watched {
  readonly epoch: number
  readonly counter: number
  readonly sinceNanos: bigint
}

interface Owned {
  readonly loop: ShardLoop
  readonly scope: Scope.Closeable
}

/** While others hold shards that this process would take, it looks for them this often. */
const lookEveryMs = 250

export class Ownership {
  /** How many shards the store has; unknown until it has answered. */
  shards: number | undefined
  progressNanos: bigint
  private readonly owned = new Map<number, Owned>()
  private readonly watched = new Map<number, Watched>()
  private readonly options: OwnershipOptions
  private readonly parts: OwnershipParts
  private renewalDueNanos = 0n
  private hasSaidThatItWaits = false

  constructor(options: OwnershipOptions, parts: OwnershipParts) {
    this.options = options
    this.parts = parts
    this.progressNanos = parts.clock.monotonicTimeNanosUnsafe()
  }

  get ownedCount(): number {
    return this.owned.size
  }

  loopOf(shard: number): ShardLoop | undefined {
    return this.owned.get(shard)?.loop
  }

  loops(): ReadonlyArray<ShardLoop> {
    return [...this.owned.values()].map(({ loop }) => loop)
  }

  readonly keepForever: Effect.Effect<never> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* Effect.catch(self.keepOnce, (error) => self.afterFailure(error))
        yield* Effect.sleep(Math.min(lookEveryMs, self.options.renewEveryMs))
      }
    })
  })

  /**
   * Hands every shard over: what could not be settled is repeated by the next owner. A store that does not
   * answer within the bound is left to notice by itself.
   */
  releaseAll(withinMs: number): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.loops(),
        (loop) =>
          this.giveUp(loop).pipe(
            Effect.andThen(this.parts.leases.release(loop.shard, loop.epoch)),
            Effect.catch((error) =>
              Effect.logWarning(`shard ${loop.shard} was not released: ${error.message}`),
            ),
          ),
        { concurrency: "unbounded", discard: true },
      ),
    ).pipe(
      Effect.timeoutOrElse({
        duration: withinMs,
        orElse: () => Effect.logWarning("the store did not answer: its shards were not released"),
      }),
    )
  }

  /** Ends all loops and leaves the leases to run out, as a crash would. */
  readonly abandonAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(this.loops(), (loop) => this.giveUp(loop), { discard: true }),
  )

  /** Stops a shard's loops; its callers learn that nothing is known. */
  giveUp(loop: ShardLoop): Effect.Effect<void> {
    return Effect.suspend(() => {
      const owned = this.owned.get(loop.shard)
      if (owned?.loop !== loop) return Effect.void
      this.owned.delete(loop.shard)
      this.watched.delete(loop.shard)
      loop.stop()
      this.parts.queue.close(loop.shard)
      this.parts.onOwnedChanged()
      return Scope.close(owned.scope, Exit.void)
    })
  }

  private readonly keepOnce: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      const now = self.parts.clock.monotonicTimeNanosUnsafe()
      if (self.owned.size > 0 && now >= self.renewalDueNanos) yield* self.renew
      if (self.shards === undefined || self.owned.size < self.shards) yield* self.claimWhatIsFree
      self.progressNanos = self.parts.clock.monotonicTimeNanosUnsafe()
    })
  })

  private readonly renew: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const self = this
    const { clock, leases } = this.parts
    return Effect.gen(function* () {
      const startedNanos = clock.monotonicTimeNanosUnsafe()
      const loops = self.loops()
      const renewals = yield* leases.renew(loops.map(({ shard, epoch }) => ({ shard, epoch })))
      self.renewalDueNanos = startedNanos + nanos(self.options.renewEveryMs)
      for (const [index, loop] of loops.entries()) {
        const renewal = renewals[index]
        if (renewal !== undefined) loop.renewed(self.trustFrom(startedNanos), renewal.foreign)
        else yield* self.lost(loop)
      }
    })
  })

  private readonly claimWhatIsFree: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const self = this
    const { clock, leases } = this.parts
    return Effect.gen(function* () {
      const seen = yield* leases.owners
      const seenNanos = clock.monotonicTimeNanosUnsafe()
      self.shards = seen.length
      for (const lease of seen) {
        if (self.owned.has(lease.shard) || !self.mayClaim(lease, seenNanos)) continue
        const startedNanos = clock.monotonicTimeNanosUnsafe()
        const claimed = yield* leases.claim(lease, self.options.node)
        if (claimed !== undefined) yield* self.take(claimed, startedNanos)
      }
      yield* self.sayIfWaiting(seen)
    })
  })

  /** A free shard, or one whose counter has not moved for the lease time. */
  private mayClaim(lease: Lease, seenNanos: bigint): boolean {
    if (lease.node === undefined) return true
    const watched = this.watched.get(lease.shard)
    if (watched?.epoch !== lease.epoch || watched.counter !== lease.counter) {
      this.watched.set(lease.shard, { epoch: lease.epoch, counter: lease.counter, sinceNanos: seenNanos })
      return false
    }
    return seenNanos - watched.sinceNanos >= nanos(this.options.leaseMs)
  }

  private take(lease: Lease, startedNanos: bigint): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      self.watched.delete(lease.shard)
      const loop = self.parts.makeLoop(lease, self.trustFrom(startedNanos))
      const scope = yield* Scope.make()
      self.owned.set(lease.shard, { loop, scope })
      self.parts.queue.open({
        shard: lease.shard,
        epoch: lease.epoch,
        onAnswer: (item, answer) => loop.onAnswer(item, answer),
        // The next renewal finds it lost as well and ends its loops; until then nothing more starts.
        onOwnershipLost: () => {
          loop.stop()
          self.parts.queue.close(lease.shard)
        },
      })
      self.parts.onOwnedChanged()
      yield* Effect.forkIn(self.parts.guard("reading", loop.readForever), scope)
      yield* Effect.forkIn(self.parts.guard("firing", loop.fireForever), scope)
    })
  }

  private lost(loop: ShardLoop): Effect.Effect<void> {
    return Effect.logWarning(`shard ${loop.shard} was taken over by another process`).pipe(
      Effect.andThen(this.giveUp(loop)),
    )
  }

  private sayIfWaiting(seen: ReadonlyArray<Lease>): Effect.Effect<void> {
    const holders = new Set(seen.flatMap(({ shard, node }) => (node && !this.owned.has(shard) ? [node] : [])))
    const isWaiting = this.owned.size === 0 && holders.size > 0
    if (isWaiting === this.hasSaidThatItWaits) return Effect.void
    this.hasSaidThatItWaits = isWaiting
    return isWaiting
      ? Effect.logWarning(
          `waiting: ${[...holders].join(", ")} holds the store; this process takes over when it is gone`,
        )
      : Effect.logInfo("the wait is over: this process fires now")
  }

  private afterFailure(error: StoreError): Effect.Effect<void> {
    // After a fatal error the process is ending.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`leases could not be kept, trying again: ${error.message}`)
  }

  private trustFrom(startedNanos: bigint): bigint {
    return startedNanos + nanos(this.options.leaseMs - this.options.marginMs)
  }
}

const nanos = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n
