// The queues of a group, in parts. A member takes over all queues of a part together, on one channel.
import type { Option } from "effect"
import type { QueueDelivery } from "./QueueReader.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"

export interface QueuePart {
  readonly queues: ReadonlyArray<string>
  readonly prefetch: number
}

export interface GroupQueues {
  /** The number of parts never changes. Queues may be added to a part. */
  readonly parts: ReadonlyArray<QueuePart>
  /** All queues of the group that this process knows, for the lag. */
  known(): Iterable<string>
  onAdded(listener: (part: number, queue: string) => void): void
  /** Learns of queues that other members added. Called after each connect; does nothing if it already follows. */
  follow(connection: RabbitConnection): Promise<void>
  /** Handles a delivery that is not for the intake. The promise says whether the delivery may be acknowledged. */
  handled(delivery: QueueDelivery): Option.Option<Promise<boolean>>
  /** How many messages in the queues are not for the intake. They do not count as lag. */
  ownMessages(): number
  /** The delivery is answered. */
  answered(delivery: QueueDelivery): void
  stop(): void
}
