// Claims, opens, renews and releases shards for a process. No other code does this. A node of the service holds the
// shards that are assigned to it (Ownership). A command that writes to a store holds all of them while it works
// (maintenance/HeldStore).
//
// A lease is a counter that its owner keeps incrementing. A process that wants a shard watches the counter with its own
// monotonic clock (ClusterWatch). If the counter has not changed for the lease time, its owner is dead, and a claim
// names the counter value that was watched. An owner stops trusting its lease a margin before anyone could take it,
// measured from the start of its last successful renewal.
//
// Between the claim and the first use, the store opens the shard and may finish work that an earlier owner left there.
// The lease is renewed from the claim on, so that a long opening does not lose it. If the opening fails, the shard is
// never used: it is released, and can be claimed again.
//
// If a claim fails, its result is unknown. If the lease then names this process, the process may claim it again at
// once. A failed release is repeated until it succeeds, or until the lease is free or belongs to another process.
import { type Clock, Effect } from "effect"
import type { Lease, ShardLeases } from "../../ports/ShardLeases.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { ClusterWatch, nanosOf } from "./ClusterWatch.ts"

export interface LeaseTimes {
  /** Anyone may claim a lease that has not changed for this long. */
  readonly leaseMs: number
  readonly renewEveryMs: number
  /** How long before a lease could be taken its owner stops trusting it. */
  readonly marginMs: number
}

export const defaultLeaseTimes: LeaseTimes = { leaseMs: 5_000, renewEveryMs: 1_000, marginMs: 1_000 }

/** How often a process that wants shards looks at their leases. */
export const lookEveryMs = 250

/** A shard, and the epoch under which this process holds it. */
export interface HeldShard {
  readonly shard: number
  readonly epoch: number
}

/** The callbacks for the shards that are held. */
export interface LeaseUse {
  /** The shard is claimed and open, and may be used from now on. */
  onHeld(lease: Lease, trustedUntilNanos: bigint): Effect.Effect<void>
  onRenewed(held: HeldShard, trustedUntilNanos: bigint, foreign: number): void
  /** Another process has claimed the shard. */
  onLost(held: HeldShard): void
}

export interface LeaseHolderParts {
  readonly leases: ShardLeases["Service"]
  readonly store: Pick<TimerStore["Service"], "open">
  readonly clock: Clock.Clock
  readonly use: LeaseUse
}

interface Holding extends HeldShard {
  trustedUntilNanos: bigint
  isOpen: boolean
}

/** Releases run in parallel, so that one that hangs does not block the others. */
const releasesAtOnce = 64

export class LeaseHolder {
  readonly watch: ClusterWatch
  /** When the last renewal, with the work after it, was done. */
  renewedNanos: bigint
  readonly #node: string
  readonly #times: LeaseTimes
  readonly #parts: LeaseHolderParts
  readonly #holdings = new Map<number, Holding>()
  /** Shards whose claim failed but may have been granted. */
  readonly #unsure = new Set<number>()
  /** Shards that are given up but not known to be released, with their epochs. */
  readonly #unreleased = new Map<number, number>()

  constructor(node: string, times: LeaseTimes, parts: LeaseHolderParts) {
    this.#node = node
    this.#times = times
    this.#parts = parts
    this.watch = new ClusterWatch({ node, leaseMs: times.leaseMs })
    this.renewedNanos = parts.clock.monotonicTimeNanosUnsafe()
  }

  /** Reads all leases and notes which of them have changed. */
  readonly look: Effect.Effect<ReadonlyArray<Lease>, StoreError> = Effect.suspend(() =>
    Effect.map(this.#parts.leases.owners, (leases) => {
      this.watch.noteLeases(leases, this.#parts.clock.monotonicTimeNanosUnsafe())
      for (const { shard, node, epoch } of leases) {
        const given = this.#unreleased.get(shard)
        // The shard is free or belongs to another process, so there is nothing left to release.
        if (given !== undefined && (node !== this.#node || epoch > given)) this.#unreleased.delete(shard)
      }
      return leases
    }),
  )

  /** True if the shard is free, if its counter has not changed for the lease time, or if it may already be granted. */
  mayClaim({ shard, node }: Lease): boolean {
    if (this.#holdings.has(shard) || this.#unreleased.has(shard)) return false
    return (
      node === undefined || this.watch.isSilent(shard) || (node === this.#node && this.#unsure.has(shard))
    )
  }

  /** Claims the shard and opens it. False if another process was faster. */
  claim(expected: Lease): Effect.Effect<boolean, StoreError> {
    const self = this
    const { clock, leases, store, use } = this.#parts
    const { shard } = expected
    return Effect.gen(function* () {
      const startedNanos = clock.monotonicTimeNanosUnsafe()
      const lease = yield* Effect.tapError(leases.claim(expected, self.#node), () =>
        Effect.sync(() => self.#unsure.add(shard)),
      )
      self.#unsure.delete(shard)
      if (lease === undefined) return false
      const { epoch } = lease
      const holding: Holding = {
        shard,
        epoch,
        trustedUntilNanos: self.#trustFrom(startedNanos),
        isOpen: false,
      }
      self.#holdings.set(shard, holding)
      yield* Effect.tapError(store.open(shard, epoch), () => Effect.sync(() => self.giveUp(holding)))
      // The shard was lost while it was being opened.
      if (self.#holdings.get(shard) !== holding) return false
      holding.isOpen = true
      yield* use.onHeld(lease, holding.trustedUntilNanos)
      return true
    })
  }

  /** Renews all leases, then runs `andThen`, again and again. After a failure it retries soon. */
  renewForever(andThen: Effect.Effect<void, StoreError> = Effect.void): Effect.Effect<never> {
    const self = this
    const { clock } = this.#parts
    const { renewEveryMs } = this.#times
    return Effect.gen(function* () {
      for (;;) {
        const startedNanos = clock.monotonicTimeNanosUnsafe()
        const isDone = yield* Effect.matchEffect(Effect.andThen(self.#renew, andThen), {
          onSuccess: () => Effect.succeed(true),
          onFailure: (error) => Effect.as(self.afterFailure(error), false),
        })
        const endedNanos = clock.monotonicTimeNanosUnsafe()
        if (isDone) self.renewedNanos = endedNanos
        const tookMs = Number(endedNanos - startedNanos) / 1e6
        yield* Effect.sleep(isDone ? Math.max(1, renewEveryMs - tookMs) : Math.min(lookEveryMs, renewEveryMs))
      }
    })
  }

  /** A fenced write has shown that another process owns the shard, so there is nothing to renew or release. */
  forget({ shard, epoch }: HeldShard): void {
    if (this.#holdings.get(shard)?.epoch === epoch) this.#holdings.delete(shard)
  }

  /** Stops using the shard. Its lease stays until it is released. */
  giveUp(held: HeldShard): void {
    if (this.#holdings.get(held.shard)?.epoch !== held.epoch) return
    this.forget(held)
    this.#unreleased.set(held.shard, held.epoch)
  }

  release({ shard, epoch }: HeldShard): Effect.Effect<void> {
    return this.#parts.leases.release(shard, epoch).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          if (this.#unreleased.get(shard) === epoch) this.#unreleased.delete(shard)
        }),
      ),
      Effect.catch((error) => Effect.logWarning(`shard ${shard} was not released: ${error.message}`)),
    )
  }

  /** Releases the shards that were given up and are not known to be free. The next call retries the ones that fail. */
  readonly releaseGivenUp: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.#unreleased], ([shard, epoch]) => this.release({ shard, epoch }), {
      concurrency: releasesAtOnce,
      discard: true,
    }),
  )

  /** Gives up and releases everything, including shards that are being opened. */
  readonly releaseAll: Effect.Effect<void> = Effect.suspend(() => {
    for (const holding of [...this.#holdings.values()]) this.giveUp(holding)
    return this.releaseGivenUp
  })

  afterFailure(error: StoreError): Effect.Effect<void> {
    // After a fatal error the process is about to end.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`leases could not be renewed, trying again: ${error.message}`)
  }

  readonly #renew: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const { clock, leases, use } = this.#parts
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    const holdings = [...this.#holdings.values()]
    if (holdings.length === 0) return Effect.void
    const held = holdings.map(({ shard, epoch }) => ({ shard, epoch }))
    return Effect.map(leases.renew(held), (renewals) => {
      for (const [index, holding] of holdings.entries()) {
        // The shard was given up or lost meanwhile.
        if (this.#holdings.get(holding.shard) !== holding) continue
        const renewal = renewals[index]
        if (renewal === undefined) {
          this.#holdings.delete(holding.shard)
          if (holding.isOpen) use.onLost(holding)
        } else {
          holding.trustedUntilNanos = this.#trustFrom(startedNanos)
          if (holding.isOpen) use.onRenewed(holding, holding.trustedUntilNanos, renewal.foreign)
        }
      }
    })
  })

  #trustFrom(startedNanos: bigint): bigint {
    return startedNanos + nanosOf(this.#times.leaseMs - this.#times.marginMs)
  }
}
