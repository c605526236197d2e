// The description of a store on a database server that several nodes share. Tasks that the server's own tools do better
// are refused, and the error names the tools. The code that opens the store is imported when it is needed.
import { Effect, Layer } from "effect"
import type { Adapter, Opened, Parsed } from "../ports/Adapter.ts"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../ports/StoreAdapter.ts"
import type { StoreKeeper } from "./storeKeeper.ts"

interface ServerAdapter<Target>
  extends Pick<StoreAdapter, "shards">,
    Pick<Adapter<unknown>, "name" | "schemes" | "forms" | "driver" | "shown"> {
  parse(url: string): Parsed<Target>
  open(target: Target, opening: StoreOpening): Promise<StoreLayer>
  keep(target: Target): Promise<StoreKeeper>
  /** The product, and how it is backed up and restored. Each continues a sentence. */
  tools(target: Target): { readonly product: string; readonly backup: string; readonly restore: string }
}

const sealingKey = {
  instead:
    "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
}

export const serverAdapter = <Target>({
  parse,
  open,
  keep,
  tools,
  ...description
}: ServerAdapter<Target>): StoreAdapter => {
  const choiceOf = (target: Target, shown: string): StoreChoice => {
    const layer = (opening: StoreOpening) => Layer.unwrap(Effect.promise(() => open(target, opening)))
    const keeping = <A>(use: (keeper: StoreKeeper) => Opened<A>): Opened<A> =>
      Effect.flatMap(
        // The URL may still name something impossible, such as a reserved name of a schema.
        Effect.tryPromise({
          try: () => keep(target),
          catch: (error) => (error instanceof Error ? error : new Error(String(error))),
        }),
        use,
      )
    const { product, backup, restore } = tools(target)
    return {
      adapter,
      shown,
      place: shown,
      open: layer,
      offline: { can: layer },
      archive: { can: () => keeping((keeper) => keeper.archive) },
      documents: { can: () => keeping((keeper) => keeper.documents) },
      doctor: { can: () => keeping((keeper) => keeper.examination(Date.now)) },
      migrate: { can: ({ shards }) => keeping((keeper) => keeper.schema(shards)) },
      backup: {
        instead: `a store on ${product} is backed up with ${backup}. To copy timers to another store, use punctual export.`,
      },
      restore: {
        instead: `a store on ${product} is restored with ${restore}, with every service stopped. Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.`,
      },
      sealingKey,
    }
  }
  const adapter: StoreAdapter = {
    ...description,
    isShared: true,
    parse: (url) => {
      const parsed = parse(url)
      return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, description.shown(url)) }
    },
  }
  return adapter
}
