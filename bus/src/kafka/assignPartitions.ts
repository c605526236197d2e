// Decides which member of a group reads which partition. Every member gets the same number of partitions, or one more,
// and keeps as many of its partitions as possible.
//
// A partition that moves is given to nobody at first. Its member must finish its messages, commit and join again. Only
// then does another member get it. So two members never read the same partition, and all other partitions go on in the
// meantime (a cooperative rebalance).

export interface GroupMemberFacts {
  readonly memberId: string
  readonly owned: ReadonlyArray<number>
  /** The generation of the group in which the member got its partitions. */
  readonly generationId: number
}

/** The partitions of each member, in ascending order. */
export const assignPartitions = (
  members: ReadonlyArray<GroupMemberFacts>,
  partitionCount: number,
): ReadonlyMap<string, ReadonlyArray<number>> => {
  const owners = ownersOf(members, partitionCount)
  const sorted = [...members].map(({ memberId }) => memberId).toSorted()
  const kept = new Map(sorted.map((memberId) => [memberId, owners.get(memberId) ?? []]))
  // Those with the most partitions get the larger shares, so that fewer partitions move.
  const byCount = sorted.toSorted((a, b) => (kept.get(b)?.length ?? 0) - (kept.get(a)?.length ?? 0))
  const share = Math.floor(partitionCount / Math.max(1, members.length))
  const larger = partitionCount - share * members.length
  const shares = new Map(byCount.map((memberId, index) => [memberId, index < larger ? share + 1 : share]))
  const free = new Set(Array.from({ length: partitionCount }, (_, partition) => partition))
  for (const owned of kept.values()) for (const partition of owned) free.delete(partition)
  const unowned = [...free]
  return new Map(
    sorted.map((memberId) => {
      const size = shares.get(memberId) ?? 0
      const partitions = (kept.get(memberId) ?? []).slice(0, size)
      partitions.push(...unowned.splice(0, size - partitions.length))
      return [memberId, partitions.toSorted((a, b) => a - b)]
    }),
  )
}

/** If two members claim a partition, the one with the newer claim has it. */
const ownersOf = (
  members: ReadonlyArray<GroupMemberFacts>,
  partitionCount: number,
): ReadonlyMap<string, Array<number>> => {
  const owners = new Map<string, Array<number>>()
  for (let partition = 0; partition < partitionCount; partition++) {
    const claims = members.filter(({ owned }) => owned.includes(partition))
    const newest = Math.max(...claims.map(({ generationId }) => generationId))
    const [owner, second] = claims.filter(({ generationId }) => generationId === newest)
    if (owner === undefined || second !== undefined) continue
    owners.set(owner.memberId, [...(owners.get(owner.memberId) ?? []), partition])
  }
  return owners
}
