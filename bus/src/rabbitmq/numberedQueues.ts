// A fixed number of queues for a group. The broker spreads the keys over them by a hash, so a new tenant needs no new
// queue. Each queue is a part of its own.
import { Option } from "effect"
import type { IntakeOptions } from "../IntakeOptions.ts"
import type { GroupQueues } from "./GroupQueues.ts"
import type { RabbitNames } from "./RabbitNames.ts"
import { prefetchOf } from "./RabbitSubscription.ts"

export const numberedQueues = (
  names: RabbitNames,
  group: string,
  count: number,
  intake: IntakeOptions,
): GroupQueues => {
  const queues = Array.from({ length: count }, (_, number) => names.numberedQueue(group, number))
  const prefetch = prefetchOf(intake, count)
  return {
    parts: queues.map((queue) => ({ queues: [queue], prefetch })),
    known: () => queues,
    onAdded: () => {},
    follow: async () => {},
    handled: () => Option.none(),
    ownMessages: () => 0,
    answered: () => {},
    stop: () => {},
  }
}
