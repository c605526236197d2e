// The name of a node belongs to one process at a time. A process takes its name when it starts, before it joins the
// cluster. If another live process has the name, the start fails, and the other process is not affected. A process that
// crashed may still be a member. Its beat no longer changes, and after the lease time its name is free.
import { Clock, Effect, Schedule, Schema } from "effect"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import type { StoreError } from "../../ports/TimerStore.ts"
import { nanosOf } from "./ClusterWatch.ts"
import { lookEveryMs } from "./LeaseHolder.ts"

/** Another live process has the name. The message says what to do. */
export class NodeNameTaken extends Schema.TaggedError<NodeNameTaken>()("NodeNameTaken", {
  message: Schema.String,
}) {}

export interface NodeNameTerms {
  readonly node: string
  readonly address: string
  /** A member whose beat has not changed for this long is dead. */
  readonly leaseMs: number
}

/** Several processes may wait for the same name. In each round one of them gets it. */
const roundsMost = 3

/** So that a start survives a short failure of the store. */
const retries = 4

export const takeNodeName = (
  terms: NodeNameTerms,
): Effect.Effect<void, NodeNameTaken | StoreError, ShardLeases> =>
  Effect.retry(taken(terms), {
    times: retries,
    schedule: Schedule.spaced(lookEveryMs),
    while: (error) => error._tag === "StoreError" && !error.isFatal,
  })

const taken = Effect.fnUntraced(function* ({ node, address, leaseMs }: NodeNameTerms) {
  const leases = yield* ShardLeases
  const clock = yield* Clock.clockWith(Effect.succeed)
  const announce = leases.announce({ node, address, isLeaving: false })
  if (yield* announce) return
  yield* Effect.logInfo(`waiting: another process had the node name ${node} and may still be running`)
  for (let round = 1; round <= roundsMost; round++) {
    let beat: number | undefined
    const sinceNanos = clock.monotonicTimeNanosUnsafe()
    while (clock.monotonicTimeNanosUnsafe() - sinceNanos < nanosOf(leaseMs)) {
      const other = (yield* leases.members).find((member) => member.node === node)
      if (other === undefined) break
      if (beat !== undefined && other.beat !== beat) return yield* nameTaken(node, other.address)
      beat = other.beat
      yield* Effect.sleep(lookEveryMs)
    }
    yield* leases.retire(node)
    if (yield* announce) return
  }
  return yield* nameTaken(node, "")
})

const nameTaken = (node: string, address: string): NodeNameTaken => {
  const where = address === "" ? "" : ` at ${address}`
  return new NodeNameTaken({
    message: `Another process${where} runs as the node ${node} on this store: set TIMER_NODE_NAME to another name here, or leave it out for a name of its own.`,
  })
}
