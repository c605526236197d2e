// Finds the namespaces of a list: those that it names, and those that match its prefixes. Every call looks them up
// again, so a list over `team-*` includes a namespace that was created after the first page.
import { everyNamespace, mostNamespacesMatched } from "@punctual/api/NamespaceChoices"
import { Effect, Schema } from "effect"
import type { ListFilter, ListScope, NamespaceSet, StoreError, TimerStore } from "../../ports/TimerStore.ts"

/** Each namespace costs an index lookup, so a list can have only a limited number of them. */
export class TooManyNamespaces extends Schema.TaggedError<TooManyNamespaces>()("TooManyNamespaces", {
  most: Schema.Number,
}) {}

type Store = Pick<TimerStore["Service"], "namespaces">

/** One namespace by name, or several by names and by prefixes that end with `*`. */
export type NamespacesAsked = string | ReadonlyArray<string>

/**
 * Each shard has an index of due times over all namespaces, so a list of all pending timers needs no names. The other
 * indexes are by namespace.
 */
export const matchNamespaces = (
  store: Store,
  query: Pick<ListFilter, "idPrefix" | "tag" | "correlationId"> &
    Pick<ListScope, "state"> & { readonly namespace: NamespacesAsked },
  shards: number | undefined,
): Effect.Effect<string | NamespaceSet, StoreError | TooManyNamespaces> => {
  const { namespace: asked, state, idPrefix, tag, correlationId } = query
  if (typeof asked === "string") return Effect.succeed(asked)
  const [only] = asked
  const isByDue = state === "pending" && (idPrefix ?? tag ?? correlationId) === undefined
  if (only === everyNamespace && isByDue && shards !== undefined)
    return Effect.succeed({ asked, names: [], shards })
  if (only !== undefined && asked.length === 1 && !isBeginning(only)) return Effect.succeed(only)
  return Effect.gen(function* () {
    const matched = new Set<string>()
    for (const choice of asked.filter(isBeginning))
      yield* addMatching(store, choice.slice(0, -everyNamespace.length), matched)
    const named = asked.filter((choice) => !isBeginning(choice))
    return { asked, names: [...new Set([...named, ...matched])] }
  })
}

const isBeginning = (choice: string): boolean => choice.endsWith(everyNamespace)

const namesAtOnce = 200

/** Two prefixes may match the same namespace. It counts once. */
const addMatching = Effect.fnUntraced(function* (store: Store, prefix: string, matched: Set<string>) {
  for (let after = justBefore(prefix); ; ) {
    const page: ReadonlyArray<string> = yield* store.namespaces(after, namesAtOnce)
    const names = page.filter((name) => name.startsWith(prefix))
    for (const name of names) matched.add(name)
    if (matched.size > mostNamespacesMatched)
      return yield* new TooManyNamespaces({ most: mostNamespacesMatched })
    const last = names.at(-1)
    // Names are sorted, so names with the same prefix follow each other.
    if (last === undefined || names.length < namesAtOnce) return undefined
    after = last
  }
})

/** A text directly before all names with this prefix. ~ is in no name. */
const justBefore = (prefix: string): string =>
  prefix === ""
    ? ""
    : `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) - 1)}~`
