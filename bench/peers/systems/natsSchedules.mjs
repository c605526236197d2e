// NATS 2.15 with scheduled messages: a message of its own subject for each timer, which the server publishes to another
// subject when it is due. Both subjects belong to one stream with the retention of a work queue, so it holds what is not done.
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from "@nats-io/jetstream"
import { connect, headers } from "@nats-io/transport-node"
import { concurrency, queueName } from "../setting.mjs"

const schedules = "schedules"
const due = "due"

export const open = async (url) => {
  const connection = await connect({ servers: url })
  const manager = await jetstreamManager(connection)
  const stream = jetstream(connection)
  let consumed
  const add = (id, dueAtMs, payload) => {
    const terms = headers()
    terms.set("Nats-Schedule", `@at ${new Date(dueAtMs).toISOString()}`)
    terms.set("Nats-Schedule-Target", `${due}.${id}`)
    return stream.publish(`${schedules}.${id}`, JSON.stringify(payload), { headers: terms })
  }
  return {
    ready: () =>
      manager.streams.add({
        name: queueName,
        subjects: [`${schedules}.*`, `${due}.*`],
        storage: StorageType.File,
        retention: RetentionPolicy.Workqueue,
        allow_msg_schedules: true,
      }),
    add,
    // There is no call for several messages at once that answers when all are stored.
    addMany: (timers, payload) => Promise.all(timers.map(({ id, dueAtMs }) => add(id, dueAtMs, payload))),
    start: async (onFired) => {
      await manager.consumers.add(queueName, {
        durable_name: queueName,
        filter_subject: `${due}.*`,
        ack_policy: AckPolicy.Explicit,
        max_ack_pending: 10 * concurrency,
      })
      const consumer = await stream.consumers.get(queueName, queueName)
      consumed = await consumer.consume({
        max_messages: 10 * concurrency,
        callback: (message) => {
          onFired(message.subject.slice(due.length + 1))
          message.ack()
        },
      })
    },
    unsettled: async () => (await manager.streams.info(queueName)).state.messages,
    close: async () => {
      await consumed?.close()
      await connection.close()
    },
  }
}
