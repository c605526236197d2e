// Before a program takes part in a store that nodes can share, it sees whether somebody uses it. Nothing listens inside a
// program, so nodes of a cluster could not carry writes to it: if it took shards from them, they would answer 503 for
// these. Watching takes nothing from anybody.
//
// Every node raises its beat once a second. Whoever has not raised it for the lease time is dead, and the engine takes
// over what it had.
import { Effect } from "effect"
import type { ShardLeases } from "../ports/ShardLeases.ts"
import type { StoreError } from "../ports/TimerStore.ts"

const lookEveryMs = 250

/** Completes when no other node lives. `node` is a name that nobody else has. */
export const untilAlone = Effect.fnUntraced(function* (
  leases: Pick<ShardLeases["Service"], "announce" | "retire" | "members">,
  node: string,
  leaseMs: number,
): Effect.fn.Return<void, StoreError> {
  // Who comes lets the store free what the dead of this machine held; one that leaves is given no shards meanwhile.
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
