// The shards this process fires, and how each comes and goes: claimed, its loops run and its queue is open; given
// up, they end, and its lease is released, again and again until that is known; lost to another, there is nothing
// to release. Which shards these should be is Ownership's business.
import { Effect, Exit, Scope } from "effect"
import type { Lease, ShardLeases } from "../ports/ShardLeases.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { Guard } from "./Guard.ts"
import type { ShardLoop } from "./ShardLoop.ts"
import type { WriteQueue } from "./WriteQueue.ts"

export interface OwnedShardsParts {
  readonly leases: ShardLeases["Service"]
  readonly queue: WriteQueue
  readonly metrics: EngineMetrics
  /** Makes the loop of a shard that was claimed. */
  readonly makeLoop: (lease: Lease, trustedUntilNanos: bigint) => ShardLoop
  /** Runs a loop that must not end: a defect in it is reported as fatal. */
  readonly guard: Guard
  /** The number of owned shards changed: shares of the node's bounds change with it. */
  readonly onOwnedChanged: () => void
}

export interface OwnedShard {
  readonly loop: ShardLoop
  readonly scope: Scope.Closeable
  /** The node it is being handed to. */
  goesTo: string | undefined
}

export class OwnedShards {
  private readonly parts: OwnedShardsParts
  private readonly byShard = new Map<number, OwnedShard>()
  /** Given up, but not known to be released: by shard, its epoch. */
  private readonly unreleased = new Map<number, number>()
  /** Lost in the middle of a write: their loops are still to be ended. */
  private readonly orphans: Array<OwnedShard> = []

  constructor(parts: OwnedShardsParts) {
    this.parts = parts
  }

  get size(): number {
    return this.byShard.size
  }

  get(shard: number): OwnedShard | undefined {
    return this.byShard.get(shard)
  }

  has(shard: number): boolean {
    return this.byShard.has(shard)
  }

  all(): ReadonlyArray<OwnedShard> {
    return [...this.byShard.values()]
  }

  loops(): ReadonlyArray<ShardLoop> {
    return this.all().map(({ loop }) => loop)
  }

  /** Its lease still names this node, though it gave the shard up. */
  isUnreleased(shard: number): boolean {
    return this.unreleased.has(shard)
  }

  take(lease: Lease, trustedUntilNanos: bigint, onLost: () => void): Effect.Effect<void> {
    const self = this
    const { makeLoop, queue, metrics, guard, onOwnedChanged } = this.parts
    return Effect.gen(function* () {
      const loop = makeLoop(lease, trustedUntilNanos)
      const scope = yield* Scope.make()
      self.byShard.set(lease.shard, { loop, scope, goesTo: undefined })
      queue.open({
        shard: lease.shard,
        epoch: lease.epoch,
        onAnswer: (item, answer) => loop.onAnswer(item, answer),
        onOwnershipLost: () => {
          self.lose(loop)
          onLost()
        },
      })
      metrics.ownershipChanged("claimed")
      onOwnedChanged()
      yield* Effect.forkIn(guard("reading", loop.readForever), scope)
      yield* Effect.forkIn(guard("firing", loop.fireForever), scope)
    })
  }

  /** Stops a shard's loops; its callers learn that nothing is known. Its lease is left as it is. */
  giveUp(loop: ShardLoop): Effect.Effect<void> {
    return Effect.suspend(() => {
      const owned = this.detach(loop)
      if (owned === undefined) return Effect.void
      this.unreleased.set(loop.shard, loop.epoch)
      return Scope.close(owned.scope, Exit.void)
    })
  }

  /** Another has claimed the shard. Told in the middle of a write: what takes time is left to `endOrphans`. */
  lose(loop: ShardLoop): void {
    const owned = this.detach(loop)
    if (owned === undefined) return
    this.orphans.push(owned)
    this.parts.metrics.ownershipChanged("lost")
  }

  readonly endOrphans: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(
      this.orphans.splice(0),
      ({ loop, scope }) =>
        Effect.andThen(
          Effect.logWarning(`shard ${loop.shard} was taken over by another process`),
          Scope.close(scope, Exit.void),
        ),
      { discard: true },
    ),
  )

  /** What leases say now: a shard that is free, or another's, need not be released any more. */
  noteSeen(leases: ReadonlyArray<Lease>, node: string): void {
    for (const lease of leases) {
      const epoch = this.unreleased.get(lease.shard)
      if (epoch !== undefined && (lease.node !== node || lease.epoch > epoch)) {
        this.unreleased.delete(lease.shard)
      }
    }
  }

  /** Releases what was given up and is not known to be free; what fails is tried again with the next look. */
  readonly releaseGivenUp: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.unreleased], ([shard, epoch]) => this.release(shard, epoch), {
      concurrency: releasesAtOnce,
      discard: true,
    }),
  )

  release(shard: number, epoch: number): Effect.Effect<void> {
    return this.parts.leases.release(shard, epoch).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          if (this.unreleased.get(shard) === epoch) this.unreleased.delete(shard)
        }),
      ),
      Effect.catch((error) => Effect.logWarning(`shard ${shard} was not released: ${error.message}`)),
    )
  }

  /** Ends all loops and leaves the leases to run out, as a crash would. */
  readonly abandonAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.forEach(this.loops(), (loop) => this.giveUp(loop), { discard: true }),
      this.endOrphans,
    ),
  )

  private detach(loop: ShardLoop): OwnedShard | undefined {
    const owned = this.byShard.get(loop.shard)
    if (owned?.loop !== loop) return undefined
    this.byShard.delete(loop.shard)
    loop.stop()
    this.parts.queue.close(loop.shard)
    this.parts.onOwnedChanged()
    return owned
  }
}

/** Side by side, so that one that hangs does not keep the others. */
const releasesAtOnce = 64
