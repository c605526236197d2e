// Declares the exchanges and queues on the broker. RabbitMQ compares a declaration with what exists: if they differ, it
// refuses, and nothing changes. So an operator may declare everything in advance, and a start with other settings than
// before fails with an error that names the difference.
//
// Every queue is a quorum queue: it is replicated in a cluster, and a confirmed message is on disk. A queue of a group
// has a single active consumer, so that the messages of a key go to one member at a time. Its dead-letter routing key
// names the topic and the layout of the group. The server compares that, too. Otherwise a group with fewer queues than
// before would leave messages in queues that nobody reads.
import { Effect } from "effect"
import type { Channel } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { BusError } from "../Bus.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { rabbitFailureText, replyCodeOf, replyCodes } from "./RabbitFailure.ts"
import { type RabbitNames, tenantPattern } from "./RabbitNames.ts"

/** A number of queues that share the keys by a hash, or a queue for each tenant. */
export type QueueLayout = number | "tenant"

export interface GroupLayout {
  readonly group: string
  readonly topic: string
  readonly queues: QueueLayout
  readonly retryDelaysMs: ReadonlyArray<number>
}

/** After so many deliveries without an answer the server moves a message to the undeliverable messages by itself. */
export const serverDeliveryLimit = 100
/** Reading undeliverable messages counts as a delivery. */
const noDeliveryLimit = 1_000_000_000
/**
 * It hashes the routing key, and takes the queue whose place in the list of all queues is the remainder. The list is
 * sorted, so a key keeps its queue over restarts of the broker. `x-consistent-hash` does not: after a restart it may
 * give the places to other queues, and then the order of a key is lost.
 */
const hashExchange = "x-modulus-hash"
/** Older servers than 4.3 need it. */
const hashPlugin = "rabbitmq_sharding"

const quorum = { "x-queue-type": "quorum" }
/** The server keeps a message until the queue that it moves to has confirmed it. This needs the other setting. */
const safeDeadLetters = { "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish" }

/** What all groups share. */
export const ensureShared = (
  connection: RabbitConnection,
  names: RabbitNames,
  topics: ReadonlyArray<string>,
): Effect.Effect<void, BusError> =>
  declaring(connection, "its exchanges", async (channel) => {
    for (const topic of topics) await channel.assertExchange(names.topicExchange(topic), "topic")
    const { undeliverable } = names
    await channel.assertExchange(undeliverable, "topic")
    await channel.assertQueue(undeliverable, {
      arguments: { ...quorum, "x-delivery-limit": noDeliveryLimit },
    })
    await channel.bindQueue(undeliverable, undeliverable, "#")
  })

export const ensureGroup = (
  connection: RabbitConnection,
  names: RabbitNames,
  layout: GroupLayout,
): Effect.Effect<void, BusError> =>
  declaring(connection, `the group ${layout.group}`, async (channel) => {
    const { group, topic, queues, retryDelaysMs } = layout
    const exchange = names.groupExchange(group)
    await channel.assertExchange(names.topicExchange(topic), "topic")
    if (queues === "tenant") await declareForTenants(channel, names, layout)
    else {
      await channel.assertExchange(exchange, hashExchange)
      for (let number = 0; number < queues; number++) {
        const queue = names.numberedQueue(group, number)
        await channel.assertQueue(queue, { arguments: groupQueue(names, layout) })
        await channel.bindQueue(queue, exchange, "")
      }
    }
    for (const delayMs of new Set(retryDelaysMs)) {
      const retry = retryName(names, group, delayMs)
      await channel.assertQueue(retry, {
        arguments: {
          ...quorum,
          ...safeDeadLetters,
          "x-message-ttl": delayMs,
          "x-dead-letter-exchange": exchange,
        },
      })
      await channel.assertExchange(retry, "fanout")
      await channel.bindQueue(retry, retry, "")
    }
    // Last, so that a group that cannot be set up completely collects no messages.
    await channel.bindExchange(exchange, names.topicExchange(topic), "#")
  })

export const retryName = (names: RabbitNames, group: string, delayMs: number): string =>
  names.partOf(group, `retry:${delayMs}`)

/** Messages of tenants that have no queue yet. */
export const newTenantsQueue = (names: RabbitNames, group: string): string => names.partOf(group, "new")

/** A stream with the names of the tenants that have a queue. Every member reads it from the start. */
export const tenantsStream = (names: RabbitNames, group: string): string => names.partOf(group, "tenants")

const declareForTenants = async (
  channel: Channel,
  names: RabbitNames,
  layout: GroupLayout,
): Promise<void> => {
  const { group } = layout
  const fresh = newTenantsQueue(names, group)
  await channel.assertExchange(fresh, "fanout")
  await channel.assertQueue(fresh, { arguments: groupQueue(names, layout) })
  await channel.bindQueue(fresh, fresh, "")
  await channel.assertExchange(names.groupExchange(group), "topic", { alternateExchange: fresh })
  await channel.assertQueue(tenantsStream(names, group), { arguments: { "x-queue-type": "stream" } })
}

/** Declares the queue of a tenant. From then on the tenant's messages go there. */
export const declareTenant = async (
  channel: Channel,
  names: RabbitNames,
  layout: GroupLayout,
  tenant: string,
): Promise<void> => {
  const queue = names.tenantQueue(layout.group, tenant)
  await channel.assertQueue(queue, { arguments: groupQueue(names, layout) })
  await channel.bindQueue(queue, names.groupExchange(layout.group), tenantPattern(tenant))
}

const groupQueue = (
  names: RabbitNames,
  { topic, queues }: GroupLayout,
): Readonly<Record<string, unknown>> => ({
  ...quorum,
  ...safeDeadLetters,
  "x-single-active-consumer": true,
  "x-delivery-limit": serverDeliveryLimit,
  "x-dead-letter-exchange": names.undeliverable,
  "x-dead-letter-routing-key": `${topic}:${queues}`,
})

const declaring = (
  connection: RabbitConnection,
  what: string,
  declare: (channel: Channel) => Promise<void>,
): Effect.Effect<void, BusError> =>
  Effect.mapError(
    connection.attempt(declare),
    (error) => explained(connection, what, error) ?? connection.refused(`setting up ${what}`, error),
  )

const explained = (connection: RabbitConnection, what: string, error: unknown): BusError | undefined => {
  const code = replyCodeOf(error)
  const text = rabbitFailureText(error)
  const at = `RabbitMQ at ${connection.hosts}`
  if (code === replyCodes.commandInvalid && text.includes(hashExchange)) {
    return new BusError({
      message: `${at} lacks the plug-in that spreads keys over queues. Enable it on every node with "rabbitmq-plugins enable ${hashPlugin}", or use a queue for each tenant instead.`,
      isPermanent: true,
    })
  }
  if (code !== replyCodes.preconditionFailed) return undefined
  return new BusError({
    message: `${at} has ${what} with other settings: ${text}. Either restore the old settings here (topic, number of queues), or let the group handle all its messages, remove its exchanges and queues at the broker, and start again.`,
    isPermanent: true,
  })
}
