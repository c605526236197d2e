// Which node each shard is meant for. Every node works this out by itself from what it reads, so it is a pure
// function of that: nodes that see the same arrive at the same, and nothing is agreed upon.
//
// It is sticky. A shard stays where it is unless its node has more than its part, so that a node that comes takes
// what it must and a node that goes leaves only what it had; with nothing changed, nothing moves.

export interface AssignmentInput {
  readonly shards: number
  /** The nodes that take part, in any order. */
  readonly members: ReadonlyArray<string>
  /** By shard; an owner that takes no part, or none at all, leaves the shard to the others. */
  readonly owners: ReadonlyArray<string | undefined>
}

/** By shard: the node it is meant for; none only if nobody takes part. Counts differ by at most one. */
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
  // In shard order, so that what remains to be moved is meant for the same node after each step.
  moving.sort((a, b) => a - b)
  let next = 0
  for (const [node, held] of heldBy) {
    const missing = Math.max(0, (quotas.get(node) ?? 0) - held.length)
    for (const shard of moving.slice(next, next + missing)) intended[shard] = node
    next += missing
  }
  return intended
}

/** Where the shards do not come out even, those that have more now keep one more: fewest of them move then. */
const quotasOf = (
  shards: number,
  members: ReadonlyArray<string>,
  heldBy: ReadonlyMap<string, ReadonlyArray<number>>,
): ReadonlyMap<string, number> => {
  const base = Math.floor(shards / Math.max(1, members.length))
  const extra = shards - base * members.length
  const heldCount = (node: string) => heldBy.get(node)?.length ?? 0
  // Sorting is stable: equals stay in the order of their names.
  const byHeld = [...members].sort((a, b) => heldCount(b) - heldCount(a))
  return new Map(byHeld.map((node, place) => [node, place < extra ? base + 1 : base]))
}
