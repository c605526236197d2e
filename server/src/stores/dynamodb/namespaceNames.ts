// The names of namespaces are items of one partition (see stores/notedNames.ts).
import { NotedNames, usedNames } from "../notedNames.ts"
import type { Database } from "./Database.ts"
import { prefixOf } from "./keys.ts"

const partition = "namespaces"

export const notedNamesOf = ({ tables, names }: Database): NotedNames =>
  new NotedNames((unknown) =>
    tables.writeAll(
      names.control,
      unknown.map((name) => ({ put: { pk: partition, sk: name } })),
    ),
  )

export const readNames = (
  database: Database,
  exclusiveAfter: string,
  limit: number,
): Promise<ReadonlyArray<string>> =>
  usedNames(storedNames(database, exclusiveAfter, limit), limit, (name) => isUsed(database, name))

async function* storedNames({ tables, names }: Database, exclusiveAfter: string, limit: number) {
  const query = {
    table: names.control,
    partition: ["pk", partition],
    range: ["sk", `${exclusiveAfter}\u0001`, "\u{10ffff}"],
  } as const
  for await (const { items } of tables.pages(query, Math.min(namesAtOnce, 2 * limit)))
    yield items.map(({ sk }) => String(sk))
}

const namesAtOnce = 32
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
