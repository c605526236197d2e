// Remembers how far the consumer of a group has come, in case somebody removes the consumer while the group listens. A
// new consumer that starts at the first message would deliver every message in the stream again, and a handler may no
// longer recognise the oldest as repeats. The last position that the broker reported is a safe place to continue: every
// message up to it was acknowledged.
//
// The position is valid for one stream and one consumer, identified by their creation times. In a recreated stream the
// same numbers mean other messages, and none of them may be skipped.
import type { ConsumerInfo } from "../../../drivers/nats/nats.ts"

export type ConsumerProgress = Pick<ConsumerInfo, "created" | "ack_floor">

export class AckFloor {
  #streamCreated: string | undefined
  #consumerCreated: string | undefined
  #sequence = 0

  /** Starts to follow the consumer, in the stream with this creation time. */
  follow(streamCreated: string, consumer: ConsumerProgress): void {
    this.#streamCreated = streamCreated
    this.#consumerCreated = consumer.created
    this.#sequence = consumer.ack_floor.stream_seq
  }

  /** Updates the position. Reports about any other consumer of the same name are ignored. */
  note({ created, ack_floor }: ConsumerProgress): void {
    if (created === this.#consumerCreated) this.#sequence = ack_floor.stream_seq
  }

  /** The sequence where a new consumer must begin, in the stream with this creation time. */
  firstSequenceIn(streamCreated: string): number {
    return streamCreated === this.#streamCreated ? this.#sequence + 1 : 1
  }
}
