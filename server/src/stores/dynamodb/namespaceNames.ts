// The names of namespaces. A process stores a name before it first writes a timer of the namespace. A name is listed if
// the namespace has a key, which is looked for in all shards.
import { forAll } from "@punctual/aws/forAll"
import type { Database } from "./Database.ts"
import { prefixOf } from "./keys.ts"

const mostKnown = 100_000
const partition = "namespaces"

export const noteNamespaces = async (
  { tables, names }: Database,
  known: Set<string>,
  used: ReadonlyArray<string>,
): Promise<void> => {
  const unknown = [...new Set(used)].filter((name) => !known.has(name))
  if (unknown.length === 0) return
  await tables.writeAll(
    names.control,
    unknown.map((name) => ({ put: { pk: partition, sk: name } })),
  )
  if (known.size + unknown.length > mostKnown) known.clear()
  for (const name of unknown) known.add(name)
}

export const readNames = async (
  database: Database,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> => {
  const query = {
    table: database.names.control,
    partition: ["pk", partition],
    range: ["sk", `${exclusiveAfter}\u0001`, "\u{10ffff}"],
  } as const
  const found: Array<string> = []
  for await (const { items } of database.tables.pages(query, Math.min(100, 2 * limit))) {
    const listed = items.map(({ sk }) => String(sk)).filter((name) => !name.startsWith("_"))
    const used = await forAll(listed, (name) => isUsed(database, name))
    found.push(...listed.filter((_, index) => used[index]))
    if (found.length >= limit) break
  }
  return found.slice(0, limit)
}

const shardsAtOnce = 8

const isUsed = async (database: Database, name: string): Promise<boolean> => {
  const range = ["id", prefixOf(name), `${prefixOf(name)}\u{10ffff}`] as const
  for (let from = 0; from < database.shards; from += shardsAtOnce) {
    const shards = Array.from(
      { length: Math.min(shardsAtOnce, database.shards - from) },
      (_, index) => from + index,
    )
    const pages = await Promise.all(
      shards.map((shard) =>
        database.tables.page(
          { table: database.names.timers, partition: ["shard", shard], range, attributes: ["id"] },
          1,
          undefined,
        ),
      ),
    )
    if (pages.some(({ count }) => count > 0)) return true
  }
  return false
}
