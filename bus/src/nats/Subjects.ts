// Where a message goes on the broker: `<prefix>.<tenant>.<topic>`, and to `<prefix>.<tenant>.dlq` if it cannot be handled.
// The routing table says which topic a type has. A name that is no sound tenant never becomes part of a subject: there it
// could be a wildcard, or another's address.
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

  /** All that the stream holds. */
  get all(): string {
    return `${this.#prefix}.>`
  }

  get allUndeliverable(): string {
    return `${this.#prefix}.*.${undeliverableToken}`
  }

  /** What a subscription reads: its topic, of every tenant. */
  ofTopic(topic: string): string {
    return `${this.#prefix}.*.${topic}`
  }

  /** Nothing if the tenant is none, or the type has no topic. */
  ofMessage(type: string, tenant: string): string | undefined {
    const topic = this.#routing.topicOf(type)
    return topic !== undefined && isTenant(tenant) ? `${this.#prefix}.${tenant}.${topic}` : undefined
  }

  /** Of a tenant, or of the messages that name none; nothing if the tenant is neither. */
  ofUndeliverable(tenant: string): string | undefined {
    return isTenant(tenant) || tenant === unknownTenant
      ? `${this.#prefix}.${tenant}.${undeliverableToken}`
      : undefined
  }

  /** The tenant that a subject names. It is not checked here: callers check whether it is a valid tenant. */
  tenantOf(subject: string): string | undefined {
    const [root, tenant, ...rest] = subject.split(".")
    return root === this.#prefix && rest.length > 0 ? tenant : undefined
  }

  /**
   * Whether an undeliverable message of the tenant may go back to the subject it says it came from. Those of no tenant
   * may go anywhere below the prefix, except to other undeliverable messages.
   */
  mayReturnTo(tenant: string, subject: string): boolean {
    const tokens = subject.split(".")
    if (tokens.length < 3 || tokens[0] !== this.#prefix || tokens[2] === undeliverableToken) return false
    if (!tokens.every((token) => /^[^\s*>\p{Cc}]+$/u.test(token))) return false
    return tenant === unknownTenant || (isTenant(tenant) && tokens[1] === tenant)
  }
}

const isTenant = Schema.is(Namespace)
