// All message buses that the service supports. To add one, add a folder and a line here.
import type { BusAdapter } from "../ports/BusAdapter.ts"
import { local } from "./local/adapter.ts"
import { nats } from "./nats/adapter.ts"

export const allBuses: ReadonlyArray<BusAdapter> = [local, nats]
