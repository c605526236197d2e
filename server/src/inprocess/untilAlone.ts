// Before a program uses a store that nodes can share, it checks whether another node uses the store. Nothing listens
// inside a program, so nodes of a cluster could not forward writes to it. If it took shards from them, they would
// answer 503 for the timers of these shards. Watching the members of the store takes no shard.
//
// Every node raises its beat once a second. A node that has not raised its beat for the lease time is dead, and the
// engine takes over its shards.
import { Effect } from "effect"
import type { ShardLeases } from "../ports/ShardLeases.ts"
import type { StoreError } from "../ports/TimerStore.ts"

const lookEveryMs = 250

/** Completes when no other node is alive. `node` is a unique name. */
export const untilAlone = Effect.fnUntraced(function* (
  leases: Pick<ShardLeases["Service"], "announce" | "retire" | "members">,
  node: string,
  leaseMs: number,
): Effect.fn.Return<void, StoreError> {
  // The first announcement of a process makes the store free the shards of processes of this machine that have ended.
  // A node that announces that it is leaving gets no shards.
  yield* leases.announce({ node, address: "", isLeaving: true })
  yield* leases.retire(node)
  const silentLooks = Math.ceil(leaseMs / lookEveryMs)
  let seen = new Map<string, { readonly beat: number; readonly looks: number }>()
  for (;;) {
    const members = yield* leases.members
    const before = seen
    seen = new Map(
      members.map((member) => {
        const known = before.get(member.node)
        return [member.node, { beat: member.beat, looks: known?.beat === member.beat ? known.looks + 1 : 0 }]
      }),
    )
    if ([...seen.values()].every(({ looks }) => looks >= silentLooks)) return
    yield* Effect.sleep(lookEveryMs)
  }
})
