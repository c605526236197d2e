// The namespaces that a key reaches, in order, for a list of namespaces. The directory is asked for each pattern of the
// key, so that neither the page nor its cursor shows anything of other namespaces.
import type { Rights } from "@punctual/door/Rights"
import { Effect } from "effect"

type Names<E> = (exclusiveAfter: string, limit: number) => Effect.Effect<ReadonlyArray<string>, E>

export interface NamesAsked {
  readonly exclusiveAfter: string
  readonly limit: number
  /** Only names that begin with this; empty for all. */
  readonly prefix: string
}

export const reachableNames = <E>(
  { namespaces }: Rights,
  names: Names<E>,
  { exclusiveAfter, limit, prefix }: NamesAsked,
): Effect.Effect<ReadonlyArray<string>, E> =>
  Effect.gen(function* () {
    const found = new Set<string>()
    for (const pattern of namespaces) {
      if (!pattern.endsWith("*")) {
        // A namespace need not be created, so a name of the key always exists.
        if (pattern > exclusiveAfter && pattern.startsWith(prefix)) found.add(pattern)
        continue
      }
      const both = narrower(pattern.slice(0, -1), prefix)
      if (both === undefined) continue
      const before = justBefore(both)
      const page = yield* names(exclusiveAfter > before ? exclusiveAfter : before, limit)
      for (const name of page) if (name.startsWith(both)) found.add(name)
    }
    return [...found].sort().slice(0, limit)
  })

/** The prefix of all names that begin with both; `undefined` if there can be none. */
const narrower = (first: string, second: string): string | undefined => {
  if (first.startsWith(second)) return first
  return second.startsWith(first) ? second : undefined
}

/** A text that sorts before the prefix and after every name that sorts before it. Names are visible ASCII. */
const justBefore = (prefix: string): string =>
  prefix === ""
    ? ""
    : `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) - 1)}\x7f`
