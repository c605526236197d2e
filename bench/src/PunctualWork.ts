// Punctual as one of the compared systems, on each of its stores. It gets the same work as its peers.
import { fileURLToPath } from "node:url"
import { postgresTerms } from "./BenchPostgres.ts"
import { newPlace } from "./EngineOnDisk.ts"
import { inChild } from "./peers/inChild.ts"
import type { Peer } from "./peers/Peer.ts"
import type { StoreKind } from "./Service.ts"

/** Does one piece of work in a process of its own. */
export const punctualScript = fileURLToPath(new URL("./punctualMain.ts", import.meta.url))

/** How durable an answered create is. */
export const punctualTerms: Readonly<Record<StoreKind, string>> = {
  sqlite: "on disk: WAL, synchronous FULL",
  postgres: postgresTerms,
}

const on = (kind: StoreKind, name: string): Peer => ({
  name,
  terms: punctualTerms[kind],
  isOnDisk: true,
  needs: kind === "postgres" ? ["postgres"] : [],
  run: async (work) => {
    await using stack = new AsyncDisposableStack()
    return await inChild([punctualScript, kind, await newPlace(kind, stack)], work)
  },
})

export const punctual: ReadonlyArray<Peer> = [
  on("sqlite", "Punctual, SQLite"),
  on("postgres", "Punctual, PostgreSQL"),
]
