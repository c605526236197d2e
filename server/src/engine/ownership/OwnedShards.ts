// The shards that this process fires. While it holds a shard, the shard's loops run and its queue is open. When it
// gives the shard up, they end, and the lease is to be released. When it loses the shard to another process, there is
// nothing to release. Ownership decides which shards to hold, and LeaseHolder keeps their leases.
import { Effect, Exit, Scope } from "effect"
import type { Lease } from "../../ports/ShardLeases.ts"
import type { Census } from "../census/Census.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Guard } from "../Guard.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { WriteQueue } from "../writing/WriteQueue.ts"
import type { HeldShard, LeaseHolder } from "./LeaseHolder.ts"

export interface OwnedShardsParts {
  readonly queue: WriteQueue
  readonly metrics: EngineMetrics
  /** Creates the loop of a claimed shard. */
  readonly makeLoop: (lease: Lease, trustedUntilNanos: bigint) => ShardLoop
  /** Runs a loop that must not end, and reports a defect in it as fatal. */
  readonly guard: Guard
  /** Counts what the writes of owned shards change. */
  readonly census?: Pick<Census, "noteAnswer"> | undefined
  /** The number of owned shards changed, and with it each shard's share of the node's limits. */
  readonly onOwnedChanged: () => void
}

export interface OwnedShard {
  readonly loop: ShardLoop
  readonly scope: Scope.Closeable
  /** The node that it is being handed to. */
  goesTo: string | undefined
}

export class OwnedShards {
  readonly #holder: LeaseHolder
  readonly #parts: OwnedShardsParts
  readonly #byShard = new Map<number, OwnedShard>()
  /** Shards that were lost during a write. Their loops have not ended yet. */
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

  /** Takes a shard that is held. `onLost` is called if a write shows that another process owns it. */
  take(lease: Lease, trustedUntilNanos: bigint, onLost: () => void): Effect.Effect<void> {
    const self = this
    const { makeLoop, queue, metrics, guard, census, onOwnedChanged } = this.#parts
    return Effect.gen(function* () {
      const loop = makeLoop(lease, trustedUntilNanos)
      const scope = yield* Scope.make()
      self.#byShard.set(lease.shard, { loop, scope, goesTo: undefined })
      queue.open({
        shard: lease.shard,
        epoch: lease.epoch,
        onAnswer: (item, answer, vacated) => {
          loop.onAnswer(item, answer)
          census?.noteAnswer(loop, item, answer, vacated)
        },
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

  /** Stops a shard's loops. Callers with open writes are told that the result is unknown. The lease stays unchanged. */
  giveUp(loop: ShardLoop): Effect.Effect<void> {
    return Effect.suspend(() => {
      const owned = this.#detach(loop)
      if (owned === undefined) return Effect.void
      this.#holder.giveUp(loop)
      return Scope.close(owned.scope, Exit.void)
    })
  }

  /**
   * Another process has claimed the shard. This may be called during a write, so `endOrphans` does the slow part later.
   */
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

  /** Ends all loops and lets the leases expire, like a crash. */
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
