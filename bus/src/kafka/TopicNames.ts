// The names of topics on the broker, made of one base name. Messages of all tenants share a topic. Each group has a topic
// for its retries, and each tenant one for its undeliverable messages. A name that is not a valid tenant never becomes
// part of a topic's name.
import { Namespace } from "@punctual/api/Namespace"
import { Schema } from "effect"
import type { RoutingTable } from "../RoutingTable.ts"
import { unknownTenant } from "../Undeliverable.ts"

const undeliverableSuffix = ".dlq"

export class TopicNames {
  /** The name of the shared topic, and the beginning of all other names. */
  readonly base: string
  readonly #routing: RoutingTable
  readonly #mainTopic: string

  /** `mainTopic` is the topic of the routing table that has the base name. */
  constructor(base: string, routing: RoutingTable, mainTopic: string) {
    this.base = base
    this.#routing = routing
    this.#mainTopic = mainTopic
  }

  /** The name on the broker for a topic of the routing table. */
  ofTopic(topic: string): string {
    if (topic === this.#mainTopic) return this.base
    const prefix = `${this.#mainTopic}.`
    return `${this.base}.${topic.startsWith(prefix) ? topic.slice(prefix.length) : topic}`
  }

  /** `undefined` if the type has no topic. */
  ofType(type: string): string | undefined {
    const topic = this.#routing.topicOf(type)
    return topic === undefined ? undefined : this.ofTopic(topic)
  }

  /** The topic of the messages that a group must handle again. */
  ofRetries(topic: string, group: string): string {
    return `${this.ofTopic(topic)}.${group}.retry`
  }

  /** For a tenant, or for messages without a valid tenant. `undefined` for any other name. */
  ofUndeliverable(tenant: string): string | undefined {
    return isTenant(tenant) || tenant === unknownTenant
      ? `${this.base}.${tenant}${undeliverableSuffix}`
      : undefined
  }

  /** The tenant whose undeliverable messages the topic has. `undefined` for any other topic. */
  tenantOf(name: string): string | undefined {
    if (!name.startsWith(`${this.base}.`) || !name.endsWith(undeliverableSuffix)) return undefined
    const tenant = name.slice(this.base.length + 1, -undeliverableSuffix.length)
    return this.ofUndeliverable(tenant) === undefined ? undefined : tenant
  }
}

/** The key of a message. Messages with the same key are in the same partition, and so in order. */
export const recordKeyOf = (tenantId: string, aggregateId: string): string => `${tenantId}.${aggregateId}`

export const isTenant = Schema.is(Namespace)
