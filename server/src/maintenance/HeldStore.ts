// Holds a store while a command writes to it, so that no service fires timers of a half-finished import or restore. The
// command claims all shards as a service would. If a live process holds some of them, the command does not begin. A
// service that starts meanwhile waits, as it would for any other owner.
//
// Writes go through the engine's queue: in order, in shared commits, fenced, and repeated while their result is
// unknown. The writer waits while the queue is full, so that the memory of a long run is bounded. A service repeats as
// long as it runs. A command gives up when the store has failed for long enough, or fatally.
import { Clock, Deferred, Effect, References, Schema, type Scope } from "effect"
import { shardOf } from "../domain/TimerKey.ts"
import { keyOfItem, type WriteAnswer, type WriteItem } from "../domain/WriteItem.ts"
import { EngineMetrics } from "../engine/EngineMetrics.ts"
import { makeGuard } from "../engine/Guard.ts"
import { nanosOf } from "../engine/ownership/ClusterWatch.ts"
import { defaultLeaseTimes, LeaseHolder, lookEveryMs } from "../engine/ownership/LeaseHolder.ts"
import { WriteQueue } from "../engine/writing/WriteQueue.ts"
import type { ShardLeases } from "../ports/ShardLeases.ts"
import { StoreError, type TimerStore } from "../ports/TimerStore.ts"

export interface HoldTarget {
  readonly store: TimerStore["Service"]
  readonly leases: ShardLeases["Service"]
  /** The command's name, as others see it when they look who holds the store. */
  readonly node: string
}

/** A live process holds shards of the store. Nothing was changed. */
export class StoreInUse extends Schema.TaggedError<StoreInUse>()("StoreInUse", {
  node: Schema.String,
}) {}

/** A service has claimed shards while the command held them. Everything written before that stays. */
export class StoreTakenOver extends Schema.TaggedError<StoreTakenOver>()("StoreTakenOver", {}) {}

export interface HeldStore {
  readonly shards: number
  /** Queues the item, after waiting while the queue is full. The answer comes later, at the latest with `flush`. */
  write(
    item: WriteItem,
    onAnswer: (answer: WriteAnswer) => void,
  ): Effect.Effect<void, StoreTakenOver | StoreError>
  /** Resolves when all queued items have been answered. */
  readonly flush: Effect.Effect<void, StoreTakenOver | StoreError>
}

/** In full commits. While some are running, the next ones collect. */
const queuedCommits = 4
/** A database that restarts is usually back within this time. */
const failsForAtMostMs = 10_000
const releaseWithinMs = 5_000

/** Holds all shards until the scope closes. If others hold some, `onWatch` gets the watched nodes. */
export const holdStore = <E>(
  target: HoldTarget,
  onWatch: (nodes: ReadonlyArray<string>) => Effect.Effect<void, E>,
): Effect.Effect<HeldStore, StoreInUse | StoreTakenOver | StoreError | E, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.clockWith(Effect.succeed)
    const failed = yield* Deferred.make<never, StoreTakenOver | StoreError>()
    const fail = (error: StoreTakenOver | StoreError) => {
      Deferred.doneUnsafe(failed, Effect.fail(error))
    }
    const epochs: Array<number> = []
    const holder = new LeaseHolder(target.node, defaultLeaseTimes, {
      leases: target.leases,
      store: target.store,
      clock,
      use: {
        onHeld: ({ shard, epoch }) =>
          Effect.sync(() => {
            epochs[shard] = epoch
            const onOwnershipLost = () => {
              fail(new StoreTakenOver())
              queue.close(shard)
            }
            queue.open({ shard, epoch, onAnswer: () => {}, onOwnershipLost })
          }),
        onRenewed: () => {},
        onLost: () => fail(new StoreTakenOver()),
      },
    })
    // Added first, so that it runs last: the claimed shards are released no matter how the rest ends.
    yield* Effect.addFinalizer(() => quietly(Effect.timeoutOption(holder.releaseAll, releaseWithinMs)))
    const queue = yield* quietly(queueOver(target.store, clock, fail))
    yield* Effect.forkScoped(quietly(holder.renewForever()))
    yield* untilUnheld(holder, onWatch)
    for (const lease of holder.watch.leases) {
      if (!(yield* holder.claim(lease))) {
        return yield* new StoreInUse({ node: lease.node ?? "another process" })
      }
    }
    return heldStore(queue, epochs, failed)
  })

const heldStore = (
  queue: WriteQueue,
  epochs: ReadonlyArray<number>,
  failed: Deferred.Deferred<never, StoreTakenOver | StoreError>,
): HeldStore => {
  const orFailed = (wait: Effect.Effect<void>) =>
    Effect.andThen(
      Effect.raceFirst(wait, Deferred.await(failed)),
      // A queue that was given up is empty and has room.
      Effect.suspend(() => (Deferred.isDoneUnsafe(failed) ? Deferred.await(failed) : Effect.void)),
    )
  const write: HeldStore["write"] = (item, onAnswer) =>
    Effect.suspend(() => {
      if (Deferred.isDoneUnsafe(failed)) return Deferred.await(failed)
      if (queue.isFull) return Effect.andThen(orFailed(queue.awaitRoom), write(item, onAnswer))
      const shard = shardOf(keyOfItem(item).uuid, epochs.length)
      const isQueued = queue.push(
        { shard, epoch: epochs[shard] ?? Number.NaN },
        {
          item,
          onAnswer: (answer) => {
            // Without an answer the shard was lost, and `failed` reports that.
            if (typeof answer !== "string") onAnswer(answer)
          },
        },
      )
      return isQueued ? Effect.void : new StoreTakenOver()
    })
  return { shards: epochs.length, write, flush: orFailed(queue.awaitIdle) }
}

const queueOver = (
  store: TimerStore["Service"],
  clock: Clock.Clock,
  fail: (error: StoreError) => void,
): Effect.Effect<WriteQueue, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { batchItems, batchBytes } = store.limits
    const metrics = yield* EngineMetrics.make
    return yield* WriteQueue.make(
      { limits: store.limits, write: writeWithPatience(store, clock, fail) },
      { queuedItems: queuedCommits * batchItems, queuedBytes: queuedCommits * batchBytes, waitMs: 0 },
      metrics,
      makeGuard((message) => fail(new StoreError({ message, isFatal: true }))),
    )
  })

/** The queue repeats failed writes. This wrapper gives up if all have failed for too long, or fatally. */
const writeWithPatience = (
  store: TimerStore["Service"],
  clock: Clock.Clock,
  giveUp: (error: StoreError) => void,
): TimerStore["Service"]["write"] => {
  let failsSinceNanos: bigint | undefined
  return (batches) =>
    store.write(batches).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          failsSinceNanos = undefined
        }),
      ),
      Effect.tapError((error) =>
        Effect.sync(() => {
          const nowNanos = clock.monotonicTimeNanosUnsafe()
          failsSinceNanos ??= nowNanos
          if (error.isFatal || nowNanos - failsSinceNanos >= nanosOf(failsForAtMostMs)) giveUp(error)
        }),
      ),
    )
}

/**
 * Waits until every shard is free, or its lease has not changed for the lease time. A changing lease has a live holder.
 */
const untilUnheld = <E>(
  holder: LeaseHolder,
  onWatch: (nodes: ReadonlyArray<string>) => Effect.Effect<void, E>,
): Effect.Effect<void, StoreInUse | StoreError | E> =>
  Effect.gen(function* () {
    const { watch } = holder
    for (let looks = 0; ; looks++) {
      const leases = yield* holder.look
      const held = leases.flatMap(({ shard, node }) => (node === undefined ? [] : [{ shard, node }]))
      const alive = held.find(({ shard }) => watch.hasMoved(shard))
      if (alive !== undefined) return yield* new StoreInUse({ node: alive.node })
      if (held.every(({ shard }) => watch.isSilent(shard))) return
      if (looks === 0) yield* onWatch([...new Set(held.map(({ node }) => node))])
      yield* Effect.sleep(lookEveryMs)
    }
  })

/** A command reports a failing store when it gives up, not at each retry. */
const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, References.MinimumLogLevel, "Error")
