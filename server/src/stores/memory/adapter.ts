// The service's own memory as a store, for trials and tests. No other process can reach it, so commands cannot either.
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice } from "../../ports/StoreAdapter.ts"

const url = "memory:"

export const memory: StoreAdapter = {
  name: "memory",
  schemes: [url],
  forms: { [url]: "the memory of the service: lost when it ends" },
  isShared: false,
  parse: (given) =>
    given === url ? { value: choice } : { problem: "must be exactly memory:, with nothing after it" },
  shown: (given) => (given === url ? given : `${url}…`),
}

const unreachable = {
  instead:
    "memory: is in the service's own memory, where no command can reach it: name another store with --store or TIMER_STORE_URL.",
}

const choice: StoreChoice = {
  adapter: memory,
  shown: url,
  place: "in memory only: it is lost when the service ends",
  open: ({ shards }) =>
    Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./MemoryStore.ts")),
        ({ MemoryStore }) => MemoryStore.layer({ shards }),
      ),
    ),
  offline: unreachable,
  archive: unreachable,
  documents: {
    instead:
      "memory: is in the service's own memory, where no command can reach it. For a key of such a service, set TIMER_ADMIN_KEY_FILE, and start it again: it makes the file with the administrator's key.",
  },
  doctor: unreachable,
  backup: unreachable,
  restore: unreachable,
  migrate: unreachable,
  sealingKey: {
    instead:
      "A store in memory has no folder to keep a key in. Set TIMER_SECRET_KEY to a key of your own; create one with: openssl rand -hex 32",
  },
}
