// The names of exchanges and queues on the broker, and the routing keys of messages.
//
//   exchange <prefix>.<topic>                 a topic exchange; senders publish here, with the key <tenant>.<aggregateId>
//     → exchange <prefix>:<group>             gives each message of the topic to one queue of the group
//         → queue <prefix>:<group>:<number>   or, with a queue for each tenant, <prefix>.<tenant>.q:<group>
//   exchange <prefix>:<group>:retry:<delay>   → a queue of the same name, which gives messages back after the delay
//   exchange <prefix>.dlq                     → a queue of the same name; undeliverable messages, <prefix>.<tenant>.dlq
//
// A topic contains no colon, so no name of a group's part can be the name of a topic. A name that is not a valid tenant
// never becomes part of a name or of a key.
import { Namespace } from "@punctual/api/Namespace"
import { Schema } from "effect"
import { unknownTenant } from "../Undeliverable.ts"

const undeliverableWord = "dlq"
/** The protocol's limit. */
const routingKeyBytes = 255

export class RabbitNames {
  readonly #prefix: string

  /** The prefix is one word. */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  topicExchange(topic: string): string {
    return `${this.#prefix}.${topic}`
  }

  get undeliverable(): string {
    return `${this.#prefix}.${undeliverableWord}`
  }

  /** Whoever holds this queue reads the undeliverable messages. */
  get undeliverableLock(): string {
    return `${this.#prefix}:${undeliverableWord}:lock`
  }

  /** The routing key of an undeliverable message. `undefined` if the tenant is not valid. */
  undeliverableKey(tenant: string): string | undefined {
    return isTenant(tenant) || tenant === unknownTenant
      ? `${this.#prefix}.${tenant}.${undeliverableWord}`
      : undefined
  }

  tenantOfUndeliverableKey(key: string): string | undefined {
    const [prefix, tenant, word, ...rest] = key.split(".")
    return prefix === this.#prefix && word === undeliverableWord && rest.length === 0 ? tenant : undefined
  }

  groupExchange(group: string): string {
    return `${this.#prefix}:${group}`
  }

  /** The group of a queue that this class named. */
  groupOfQueue(queue: string): string | undefined {
    const [first = "", second] = queue.split(":")
    return first === this.#prefix || first.startsWith(`${this.#prefix}.`) ? second : undefined
  }

  numberedQueue(group: string, number: number): string {
    return `${this.#prefix}:${group}:${number}`
  }

  tenantQueue(group: string, tenant: string): string {
    return `${this.#prefix}.${tenant}.q:${group}`
  }

  /** A part of the group that is neither a numbered queue nor a queue of a tenant. */
  partOf(group: string, part: string): string {
    return `${this.#prefix}:${group}:${part}`
  }
}

/**
 * The routing key of a message. The protocol limits its bytes, so the end of a long key is cut. Messages whose keys
 * differ only behind the cut then share a queue, which does no harm. `undefined` if the tenant is not valid.
 */
export const routingKeyOf = (tenant: string, aggregateId: string): string | undefined =>
  isTenant(tenant) ? cutToBytes(`${tenant}.${aggregateId}`, routingKeyBytes) : undefined

/** The tenant in a routing key, unchecked. Callers check whether it is a valid tenant. */
export const tenantOfRoutingKey = (key: string): string => {
  const dot = key.indexOf(".")
  return dot < 0 ? key : key.slice(0, dot)
}

/** The keys of a tenant, as the pattern of a binding. */
export const tenantPattern = (tenant: string): string => `${tenant}.#`

export const isTenant = Schema.is(Namespace)

const cutToBytes = (text: string, most: number): string => {
  if (text.length * 3 <= most) return text
  const bytes = encoder.encode(text)
  if (bytes.length <= most) return text
  let end = most
  // A byte of the form 10xxxxxx continues a character, which must not be cut in half.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return decoder.decode(bytes.subarray(0, end))
}

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
