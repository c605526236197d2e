// Every kind of message bus that the service knows. A new one is a folder and a line here.
import type { BusAdapter } from "../ports/BusAdapter.ts"
import { local } from "./local/adapter.ts"
import { nats } from "./nats/adapter.ts"

export const allBuses: ReadonlyArray<BusAdapter> = [local, nats]
