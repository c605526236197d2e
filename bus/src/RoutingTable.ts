// Which topic a message belongs to, by its type. The composition root makes the table of all the products that share a
// bus; an adapter makes addresses of the topics. A topic is one or more words with dots between them, so that brokers
// whose addresses have such parts can use it as it is.

export class RoutingTable {
  readonly #topics: ReadonlyMap<string, string>

  /** Throws at a topic that cannot be part of an address: the table is part of the program, not of its input. */
  constructor(topicOfType: Readonly<Record<string, string>>) {
    for (const topic of Object.values(topicOfType)) {
      if (!topicShape.test(topic)) throw new Error(`${JSON.stringify(topic)} cannot be a topic`)
    }
    this.#topics = new Map(Object.entries(topicOfType))
  }

  /** Nothing if the type has no topic: then it cannot be published. */
  topicOf(type: string): string | undefined {
    return this.#topics.get(type)
  }
}

/** `dlq` is where adapters keep undeliverable messages. */
const topicShape = /^(?!dlq(?:\.|$))[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,3}$/

/** Why a message of the type cannot be published. */
export const unrouted = (type: string): string =>
  `no topic is known for messages of the type ${JSON.stringify(type.slice(0, 100))}`
