// All shards of a store, held for the time of a command that writes to it, so that no service fires what is only half
// there. They are claimed as a service would claim them: whoever holds some is watched for the lease time, and if it
// lives, the command does not begin. A service that starts meanwhile waits, as it would for any other owner.
import { Effect, type Scope } from "effect"
import type { Lease, ShardLeases } from "../ports/ShardLeases.ts"
import type { StoreError } from "../ports/TimerStore.ts"
import { CommandFailed, Output, type OutputClosed } from "./CommandRuntime.ts"

/** The lease time of a service, in looks. */
const looks = 20
const lookEveryMs = 250
const renewEveryMs = 1_000
const releaseWithinMs = 5_000

/** By shard: the epoch under which it may be written. */
export const holdShards = (
  leases: ShardLeases["Service"],
  node: string,
): Effect.Effect<ReadonlyArray<number>, CommandFailed | OutputClosed, Output | Scope.Scope> =>
  Effect.gen(function* () {
    const seen = yield* unheld(leases)
    const held: Array<Lease> = []
    // Whatever becomes of the rest, what was claimed is released.
    yield* Effect.addFinalizer(() => releaseAll(leases, held))
    for (const lease of seen) {
      const claimed = yield* told(leases.claim(lease, node))
      if (claimed === undefined) {
        return yield* inUse(lease.node ?? "another process")
      }
      held.push(claimed)
    }
    // A renewal that fails is made up for by the next: what counts is the fence of each write.
    const renewing = Effect.andThen(Effect.sleep(renewEveryMs), Effect.ignore(leases.renew(held)))
    yield* Effect.forkScoped(Effect.forever(renewing))
    return held.map(({ epoch }) => epoch)
  })

/** The leases as they are once nobody who lives holds any. */
const unheld = (leases: ShardLeases["Service"]) =>
  Effect.gen(function* () {
    const { remark } = yield* Output
    let seen = yield* told(leases.owners)
    for (let look = 0; look < looks; look++) {
      const holders = new Set(seen.flatMap(({ node }) => node ?? []))
      if (holders.size === 0) break
      if (look === 0) yield* remark(`Held by ${[...holders].join(", ")}: watching whether it lives …`)
      yield* Effect.sleep(lookEveryMs)
      const before = seen
      seen = yield* told(leases.owners)
      const alive = seen.find(({ shard, node, epoch, counter }) => {
        const earlier = before[shard]
        return node !== undefined && (earlier?.epoch !== epoch || earlier.counter !== counter)
      })
      if (alive !== undefined) return yield* inUse(alive.node ?? "another process")
    }
    return seen
  })

const inUse = (node: string): Effect.Effect<never, CommandFailed> =>
  Effect.fail(
    new CommandFailed({
      message: `${node} runs on this store: stop every service on it first, and start them again afterwards.`,
    }),
  )

const releaseAll = (leases: ShardLeases["Service"], held: ReadonlyArray<Lease>): Effect.Effect<void> =>
  Effect.forEach(held, ({ shard, epoch }) => Effect.ignore(leases.release(shard, epoch)), {
    discard: true,
  }).pipe(Effect.timeoutOption(releaseWithinMs), Effect.asVoid)

/** What the store said, as why the command failed. */
export const told = <A>(call: Effect.Effect<A, StoreError>): Effect.Effect<A, CommandFailed> =>
  Effect.mapError(call, ({ message }) => new CommandFailed({ message: `the store failed: ${message}` }))
