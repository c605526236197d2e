// How far the consumer of a group had come, in case somebody removes it while the group listens. Made again from the
// first message on, it would hand out every message that the stream still holds, and a handler may have forgotten that it
// has seen the oldest of them. What the broker told last is enough to go on from: all up to there was acknowledged, by
// whichever member.
//
// It holds for one stream and one consumer, told by when they were made: in a stream that was made anew the same
// numbers mean other messages, and none of them may be skipped.
import type { ConsumerInfo } from "../../../drivers/nats/nats.ts"

export type ConsumerProgress = Pick<ConsumerInfo, "created" | "ack_floor">

export class AckFloor {
  #streamCreated: string | undefined
  #consumerCreated: string | undefined
  #sequence = 0

  /** The consumer is there, in the stream that was made then. */
  follow(streamCreated: string, consumer: ConsumerProgress): void {
    this.#streamCreated = streamCreated
    this.#consumerCreated = consumer.created
    this.#sequence = consumer.ack_floor.stream_seq
  }

  /** What the broker says of a consumer of that name; another than the one that is followed says nothing. */
  note({ created, ack_floor }: ConsumerProgress): void {
    if (created === this.#consumerCreated) this.#sequence = ack_floor.stream_seq
  }

  /** Where a consumer of the stream that was made then has to begin. */
  firstSequenceIn(streamCreated: string): number {
    return streamCreated === this.#streamCreated ? this.#sequence + 1 : 1
  }
}
