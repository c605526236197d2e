// The subject of a message on the broker: `<prefix>.<tenant>.<topic>`, or `<prefix>.<tenant>.dlq` if the message is
// undeliverable. The routing table gives the topic of a type. A name that is not a valid tenant never becomes part of a
// subject, because it could be a wildcard or another tenant's address.
import { Namespace } from "@punctual/api/Namespace"
import { Schema } from "effect"
import type { RoutingTable } from "../RoutingTable.ts"
import { unknownTenant } from "../Undeliverable.ts"

const undeliverableToken = "dlq"

export class Subjects {
  readonly #prefix: string
  readonly #routing: RoutingTable

  /** The prefix is one token of a subject. */
  constructor(prefix: string, routing: RoutingTable) {
    this.#prefix = prefix
    this.#routing = routing
  }

  /** All subjects of the stream. */
  get all(): string {
    return `${this.#prefix}.>`
  }

  get allUndeliverable(): string {
    return `${this.#prefix}.*.${undeliverableToken}`
  }

  /** The subjects that a subscription reads: its topic, for every tenant. */
  ofTopic(topic: string): string {
    return `${this.#prefix}.*.${topic}`
  }

  /** `undefined` if the tenant is not valid, or if the type has no topic. */
  ofMessage(type: string, tenant: string): string | undefined {
    const topic = this.#routing.topicOf(type)
    return topic !== undefined && isTenant(tenant) ? `${this.#prefix}.${tenant}.${topic}` : undefined
  }

  /** The subject of a tenant, or of messages without a valid tenant. `undefined` for any other name. */
  ofUndeliverable(tenant: string): string | undefined {
    return isTenant(tenant) || tenant === unknownTenant
      ? `${this.#prefix}.${tenant}.${undeliverableToken}`
      : undefined
  }

  /** The tenant in the subject, unchecked. Callers check whether it is a valid tenant. */
  tenantOf(subject: string): string | undefined {
    const [root, tenant, ...rest] = subject.split(".")
    return root === this.#prefix && rest.length > 0 ? tenant : undefined
  }

  /**
   * Whether an undeliverable message of the tenant may go back to its original subject. A message without a valid
   * tenant may go to any subject below the prefix, except to the undeliverable messages.
   */
  mayReturnTo(tenant: string, subject: string): boolean {
    const tokens = subject.split(".")
    if (tokens.length < 3 || tokens[0] !== this.#prefix || tokens[2] === undeliverableToken) return false
    if (!tokens.every((token) => /^[^\s*>\p{Cc}]+$/u.test(token))) return false
    return tenant === unknownTenant || (isTenant(tenant) && tokens[1] === tenant)
  }
}

const isTenant = Schema.is(Namespace)
