// All stores that the service supports. To add one, add a folder and a line here.
import type { StoreAdapter } from "../ports/StoreAdapter.ts"
import { cassandra } from "./cassandra/adapter.ts"
import { dynamodb } from "./dynamodb/adapter.ts"
import { memory } from "./memory/adapter.ts"
import { mongodb } from "./mongodb/adapter.ts"
import { mysql } from "./mysql/adapter.ts"
import { postgres } from "./postgres/adapter.ts"
import { sqlite } from "./sqlite/adapter.ts"

export const allStores: ReadonlyArray<StoreAdapter> = [
  sqlite,
  memory,
  postgres,
  mysql,
  cassandra,
  mongodb,
  dynamodb,
]
