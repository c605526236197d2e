// All message buses that the service supports. To add one, add a folder and a line here.
import type { BusAdapter } from "../ports/BusAdapter.ts"
import { kafka } from "./kafka/adapter.ts"
import { local } from "./local/adapter.ts"
import { nats } from "./nats/adapter.ts"
import { rabbitmq } from "./rabbitmq/adapter.ts"

export const allBuses: ReadonlyArray<BusAdapter> = [local, nats, rabbitmq, kafka]
