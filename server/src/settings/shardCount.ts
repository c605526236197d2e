// The number of shards of a store. Stores need different numbers, so an adapter may state its own default and the fewest
// shards with which it works well. What an operator sets overrides the default.
import type { Parsed } from "../ports/Adapter.ts"
import type { StoreAdapter } from "../ports/StoreAdapter.ts"
import type { Setting } from "./Setting.ts"

/** The text of the setting in force: the given one, the default of the store, or the common default. */
export const shardsText = (
  given: string | undefined,
  adapter: Pick<StoreAdapter, "shards"> | undefined,
  { byDefault }: Pick<Setting<number>, "byDefault">,
): string => given ?? String(adapter?.shards?.byDefault ?? byDefault)

/** The number itself, if it is one that the store accepts. */
export const shardCount = (
  text: string,
  adapter: Pick<StoreAdapter, "shards" | "name"> | undefined,
  { parse }: Pick<Setting<number>, "parse">,
): Parsed<number> => {
  const parsed = parse(text)
  const fewest = adapter?.shards?.fewest ?? 1
  if ("problem" in parsed || parsed.value >= fewest) return parsed
  return { problem: `must be at least ${fewest} with the store ${adapter?.name}` }
}
