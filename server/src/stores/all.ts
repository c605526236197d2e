// Every kind of store that the service knows. A new one is a folder and a line here.
import type { StoreAdapter } from "../ports/StoreAdapter.ts"
import { memory } from "./memory/adapter.ts"
import { postgres } from "./postgres/adapter.ts"
import { sqlite } from "./sqlite/adapter.ts"

export const allStores: ReadonlyArray<StoreAdapter> = [sqlite, memory, postgres]
