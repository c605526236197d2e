// Removes old lives. A life becomes a trace, so that an owner that was stopped while it wrote the life cannot write it
// again. First the document of its key forgets the life. If this process dies in between, the life is still listed,
// and the next pruning removes it.
import type { Commands, Document, UpdateOne } from "@punctual/documents/mongodb/Commands"
import { nextLastOf, traceOf, updateOf } from "./Application.ts"
import type { MongodbConnection } from "./MongodbStore.ts"
import { lifeColumns } from "./rows.ts"

export const prune = async (
  { commands }: MongodbConnection,
  exclusiveBeforeMs: number,
  limit: number,
): Promise<number> => {
  const old = await commands.find(
    "lives",
    { prunable: true, finished_at: { $lt: exclusiveBeforeMs } },
    { sort: { finished_at: 1 }, limit, projection: { uuid: 1, fire_id: 1, stamp: 1 } },
  )
  if (old.length === 0) return 0
  const pruned = Map.groupBy(old, (life): string => life["uuid"])
  const keys = await commands.find(
    "keys",
    { _id: { $in: [...pruned.keys()] } },
    { projection: { stamp: 1, last: 1, pending: 1, wrote: 1, namespace: 1, timer_id: 1 } },
  )
  const updates = await Promise.all(
    keys.map((key) =>
      forgetting(
        commands,
        key,
        (pruned.get(key["_id"]) ?? []).map((life) => life["fire_id"]),
      ),
    ),
  )
  const sent = updates.filter((update) => update !== undefined)
  // A key that has changed meanwhile still needs its last life. The next pruning finds its lives again.
  if ((await commands.update("keys", sent)) < sent.length) {
    const now = await commands.find("keys", { _id: { $in: [...pruned.keys()] } }, { projection: { last: 1 } })
    for (const { _id, last } of now) {
      const lives = pruned.get(_id) ?? []
      if (lives.some((life) => life["fire_id"] === last?.f)) pruned.delete(_id)
    }
  }
  const traced = [...pruned.values()].flat().map(({ _id, stamp }) => ({
    q: { _id, stamp },
    u: traceOf({ stamp }, ["uuid", "shard", "namespace", "timer_id", ...lifeColumns]),
  }))
  return commands.update("lives", traced)
}

/** `undefined` if the key's document does not refer to the lives. */
const forgetting = async (
  commands: Commands,
  key: Document,
  fireIds: ReadonlyArray<string>,
): Promise<UpdateOne | undefined> => {
  const { _id, stamp, last, pending, wrote, namespace, timer_id } = key
  const q = { _id, stamp, "last.f": last?.f ?? { $exists: false }, pending: pending ?? { $exists: false } }
  const unset = fireIds.includes(wrote) ? ["wrote"] : []
  if (!fireIds.includes(last?.f)) return unset.length === 0 ? undefined : { q, u: updateOf({ stamp }, unset) }
  const next = await nextLastOf(commands, namespace, timer_id, fireIds)
  if (next !== undefined) return { q, u: updateOf({ last: next }, unset) }
  unset.push("last")
  if (pending === true) return { q, u: updateOf({ stamp }, unset) }
  return { q, u: traceOf({ stamp }, [...unset, "namespace", "timer_id"]) }
}
