// The name of a node belongs to one process at a time. A process takes its name when it starts, before it joins the
// cluster. If another live process has the name, the start fails, and the other process is not affected. A process that
// crashed may still be a member. Its beat no longer changes, and after the lease time its name is free.
//
// ClusterWatch measures the lease time, so time between slow reads counts only a little, and several reads must show
// the same beat. Only the entry with that beat is removed. If its process sends a beat just then, or another process
// takes the name first, `announce` fails, and the next read shows another beat.
import { Clock, Effect, Schedule, Schema } from "effect"
import { type Member, ShardLeases } from "../../ports/ShardLeases.ts"
import type { StoreError } from "../../ports/TimerStore.ts"
import { ClusterWatch, isSameBeat } from "./ClusterWatch.ts"
import { lookEveryMs } from "./LeaseHolder.ts"

/** Another live process has the name. The message says what to do. */
export class NodeNameTaken extends Schema.TaggedError<NodeNameTaken>()("NodeNameTaken", {
  message: Schema.String,
}) {}

export interface NodeNameTerms {
  readonly node: string
  readonly address: string
  /** A process whose beat has not changed for this long is dead. */
  readonly leaseMs: number
}

/** How often the name may be free and then belong to another process before this one can announce itself. */
const attemptsMost = 3

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
  const watch = new ClusterWatch({ node, leaseMs })
  let first: Member | undefined
  for (let attempts = 0; attempts < attemptsMost; ) {
    watch.noteMembers(yield* leases.members, clock.monotonicTimeNanosUnsafe())
    const other = watch.memberOf(node)
    first ??= other
    // Either the process has sent a beat, or a third process has taken the name meanwhile.
    if (first !== undefined && other !== undefined && !isSameBeat(first, other)) {
      return yield* nameTaken(node, other.address)
    }
    if (other?.isLive === true) {
      yield* Effect.sleep(lookEveryMs)
      continue
    }
    if (other !== undefined) yield* leases.retireSilent(other)
    if (yield* announce) return
    attempts++
  }
  return yield* nameTaken(node, "")
})

const nameTaken = (node: string, address: string): NodeNameTaken => {
  const where = address === "" ? "" : ` at ${address}`
  return new NodeNameTaken({
    message: `Another process${where} runs as the node ${node} on this store: set TIMER_NODE_NAME to another name here, or leave it out for a name of its own.`,
  })
}
