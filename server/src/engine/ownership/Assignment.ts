// Assigns each shard to a node. Every node computes this by itself from what it reads. It is a pure function, so nodes
// that see the same input get the same result without any agreement.
//
// The assignment is sticky. A shard stays with its node unless the node has more than its share. So a new node takes
// only its share, and a leaving node gives up only what it had. If nothing changes, nothing moves.

export interface AssignmentInput {
  readonly shards: number
  /** The participating nodes, in any order. */
  readonly members: ReadonlyArray<string>
  /** By shard. A shard without an owner, or whose owner does not participate, is free for the others. */
  readonly owners: ReadonlyArray<string | undefined>
}

/** The node of each shard; `undefined` only if no node participates. The counts differ by at most one. */
export const assign = (input: AssignmentInput): ReadonlyArray<string | undefined> => {
  const { shards, owners } = input
  const members = [...input.members].sort()
  const heldBy = new Map<string, Array<number>>(members.map((node) => [node, []]))
  const unowned: Array<number> = []
  for (let shard = 0; shard < shards; shard++) {
    const owner = owners[shard]
    const held = owner === undefined ? undefined : heldBy.get(owner)
    if (held === undefined) unowned.push(shard)
    else held.push(shard)
  }

  const intended = new Array<string | undefined>(shards).fill(undefined)
  const quotas = quotasOf(shards, members, heldBy)
  const moving = [...unowned]
  for (const [node, held] of heldBy) {
    const quota = quotas.get(node) ?? 0
    for (const shard of held.slice(0, quota)) intended[shard] = node
    moving.push(...held.slice(quota))
  }
  // In shard order, so that each step leaves the assignment of the remaining moves unchanged.
  moving.sort((a, b) => a - b)
  let next = 0
  for (const [node, held] of heldBy) {
    const missing = Math.max(0, (quotas.get(node) ?? 0) - held.length)
    for (const shard of moving.slice(next, next + missing)) intended[shard] = node
    next += missing
  }
  return intended
}

/** If the shards do not divide evenly, the nodes that hold more now keep one more, so that the fewest shards move. */
const quotasOf = (
  shards: number,
  members: ReadonlyArray<string>,
  heldBy: ReadonlyMap<string, ReadonlyArray<number>>,
): ReadonlyMap<string, number> => {
  const base = Math.floor(shards / Math.max(1, members.length))
  const extra = shards - base * members.length
  const heldCount = (node: string) => heldBy.get(node)?.length ?? 0
  // The sort is stable: nodes with equal counts stay in the order of their names.
  const byHeld = [...members].sort((a, b) => heldCount(b) - heldCount(a))
  return new Map(byHeld.map((node, place) => [node, place < extra ? base + 1 : base]))
}
