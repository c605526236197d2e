// Maps the type of a message to its topic. The composition root builds the table for all products that share a bus, and
// an adapter turns topics into addresses. A topic is one or more words with dots between them, so that brokers whose
// addresses have such parts can use it unchanged.
//
// Most messages need a subscriber: a command that no one takes is not done. Some events only tell what happened, and
// it is fine if no one listens. The table names these types.
//
// Some brokers keep messages only for groups that exist. On them, a process that publishes first would lose messages for a
// group that starts later in another process. So the table also names the groups of all products, and such a broker
// makes a place for each of them before anything is published.

/** A group of one of the products, and the topic that it reads. */
export interface RoutedGroup {
  readonly group: string
  readonly topic: string
}

export class RoutingTable {
  /** The groups of the products that share the bus. */
  readonly groups: ReadonlyArray<RoutedGroup>
  readonly #topics: ReadonlyMap<string, string>
  readonly #unheardTypes: ReadonlySet<string>

  /**
   * Throws on a topic that cannot be part of an address, because the table is part of the program, not of its input.
   * `unheardTypes` need no subscriber.
   */
  constructor(
    topicOfType: Readonly<Record<string, string>>,
    unheardTypes: ReadonlyArray<string> = [],
    groups: ReadonlyArray<RoutedGroup> = [],
  ) {
    for (const topic of Object.values(topicOfType)) {
      if (!topicShape.test(topic)) throw new Error(`${JSON.stringify(topic)} cannot be a topic`)
    }
    this.#topics = new Map(Object.entries(topicOfType))
    this.#unheardTypes = new Set(unheardTypes)
    this.groups = groups
  }

  /** Whether a message of the type is done only if somebody handles it. */
  needsSubscriber(type: string): boolean {
    return !this.#unheardTypes.has(type)
  }

  /** Every topic once. */
  get topics(): ReadonlyArray<string> {
    return [...new Set(this.#topics.values())]
  }

  /** `undefined` if the type has no topic. Then messages of the type cannot be published. */
  topicOf(type: string): string | undefined {
    return this.#topics.get(type)
  }
}

/** Adapters keep undeliverable messages under `dlq`, so a topic cannot begin with it. */
const topicShape = /^(?!dlq(?:\.|$))[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,3}$/

/** Why a message of the type cannot be published. */
export const unrouted = (type: string): string =>
  `no topic is configured for messages of type ${JSON.stringify(type.slice(0, 100))}`
