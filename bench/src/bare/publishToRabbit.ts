// The bare limit of P5 on RabbitMQ: the same client publishes the same events to the exchange that Punctual created, with
// a fixed number at once. The broker confirms each.
import { connect } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { eventOf } from "./publishAll.ts"

/** Returns messages per second. */
export const publishToRabbit = async (url: string, messages: number, atOnce: number): Promise<number> => {
  const connection = await connect(url, { noDelay: true })
  try {
    const channel = await connection.createConfirmChannel()
    const ids = Array.from({ length: messages }, () => Bun.randomUUIDv7())
    let started = 0
    const startedAt = performance.now()
    const publisher = async () => {
      for (let id = ids[started++]; id !== undefined; id = ids[started++]) {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        const headers = { tenantId: "bench", serviceCallId: id, correlationId: id }
        channel.publish(
          "svc.serviceCall",
          `bench.${id}`,
          Buffer.from(eventOf(id)),
          { persistent: true, mandatory: true, messageId: id, type: "DueTimeReached", headers },
          (error) => (error === null || error === undefined ? resolve() : reject(error)),
        )
        await promise
      }
    }
    await Promise.all(Array.from({ length: atOnce }, publisher))
    return (messages / (performance.now() - startedAt)) * 1_000
  } finally {
    await connection.close()
  }
}

/** Empties the queues that get the events, so that every measurement begins with the same queues. */
export const emptyRabbit = async (url: string, queues: number): Promise<void> => {
  const connection = await connect(url)
  try {
    const channel = await connection.createChannel()
    for (let number = 0; number < queues; number++) await channel.purgeQueue(`svc:punctual:${number}`)
  } finally {
    await connection.close()
  }
}
