// The shards this process fires, and how each comes and goes. When a shard is held, its loops run and its queue is
// open. When it is given up, they end, and its lease is to be released. When it is lost to another process, there is
// nothing to release. Ownership decides which shards these should be, and LeaseHolder keeps their leases.
import { Effect, Exit, Scope } from "effect"
import type { Lease } from "../../ports/ShardLeases.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Guard } from "../Guard.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { WriteQueue } from "../writing/WriteQueue.ts"
import type { HeldShard, LeaseHolder } from "./LeaseHolder.ts"

export interface OwnedShardsParts {
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
  readonly #holder: LeaseHolder
  readonly #parts: OwnedShardsParts
  readonly #byShard = new Map<number, OwnedShard>()
  /** Lost in the middle of a write: their loops are still to be ended. */
  readonly #orphans: Array<OwnedShard> = []

  constructor(holder: LeaseHolder, parts: OwnedShardsParts) {
    this.#holder = holder
    this.#parts = parts
  }

  get size(): number {
    return this.#byShard.size
  }

  get(shard: number): OwnedShard | undefined {
    return this.#byShard.get(shard)
  }

  has(shard: number): boolean {
    return this.#byShard.has(shard)
  }

  all(): ReadonlyArray<OwnedShard> {
    return [...this.#byShard.values()]
  }

  loops(): ReadonlyArray<ShardLoop> {
    return this.all().map(({ loop }) => loop)
  }

  /** Takes a shard that is held. `onLost` is called if a write tells that it is another's. */
  take(lease: Lease, trustedUntilNanos: bigint, onLost: () => void): Effect.Effect<void> {
    const self = this
    const { makeLoop, queue, metrics, guard, onOwnedChanged } = this.#parts
    return Effect.gen(function* () {
      const loop = makeLoop(lease, trustedUntilNanos)
      const scope = yield* Scope.make()
      self.#byShard.set(lease.shard, { loop, scope, goesTo: undefined })
      queue.open({
        shard: lease.shard,
        epoch: lease.epoch,
        onAnswer: (item, answer) => loop.onAnswer(item, answer),
        onOwnershipLost: () => {
          self.#holder.forget(loop)
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

  renewed(held: HeldShard, trustedUntilNanos: bigint, foreign: number): void {
    const loop = this.#byShard.get(held.shard)?.loop
    if (loop?.epoch === held.epoch) loop.renewed(trustedUntilNanos, foreign)
  }

  /** Stops a shard's loops; its callers learn that nothing is known. Its lease is left as it is. */
  giveUp(loop: ShardLoop): Effect.Effect<void> {
    return Effect.suspend(() => {
      const owned = this.#detach(loop)
      if (owned === undefined) return Effect.void
      this.#holder.giveUp(loop)
      return Scope.close(owned.scope, Exit.void)
    })
  }

  /** Another process has claimed the shard. This may be told in the middle of a write: `endOrphans` does what takes time. */
  lose(held: HeldShard): void {
    const owned = this.#detach(held)
    if (owned === undefined) return
    this.#orphans.push(owned)
    this.#parts.metrics.ownershipChanged("lost")
  }

  readonly endOrphans: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(
      this.#orphans.splice(0),
      ({ loop, scope }) =>
        Effect.andThen(
          Effect.logWarning(`shard ${loop.shard} was taken over by another process`),
          Scope.close(scope, Exit.void),
        ),
      { discard: true },
    ),
  )

  /** Ends all loops and leaves the leases to run out, as a crash would. */
  readonly abandonAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.forEach(this.loops(), (loop) => this.giveUp(loop), { discard: true }),
      this.endOrphans,
    ),
  )

  #detach({ shard, epoch }: HeldShard): OwnedShard | undefined {
    const owned = this.#byShard.get(shard)
    if (owned?.loop.epoch !== epoch) return undefined
    this.#byShard.delete(shard)
    owned.loop.stop()
    this.#parts.queue.close(shard)
    this.#parts.onOwnedChanged()
    return owned
  }
}
