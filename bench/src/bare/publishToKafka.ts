// The bare limit of P5 on Kafka: the producer of the same client library sends the same events to the topic that Punctual
// created, as an idempotent producer with acks=all. A number at once is one request with so many records, as a producer
// of Kafka does it.
import { Producer, stringSerializers } from "../../../drivers/kafka/kafka.ts"
import { eventOf } from "./publishAll.ts"

/** Returns messages per second. */
export const publishToKafka = async (address: string, messages: number, atOnce: number): Promise<number> => {
  const producer = new Producer({
    clientId: "bench",
    bootstrapBrokers: [address],
    serializers: stringSerializers,
    idempotent: true,
    acks: -1,
  })
  try {
    const ids = Array.from({ length: messages }, () => Bun.randomUUIDv7())
    const startedAt = performance.now()
    for (let from = 0; from < messages; from += atOnce) {
      await producer.send({
        messages: ids.slice(from, from + atOnce).map((id) => ({
          topic: "service.events",
          key: `bench.${id}`,
          value: eventOf(id),
          headers: { messageId: id, tenantId: "bench", serviceCallId: id, correlationId: id },
        })),
      })
    }
    return (messages / (performance.now() - startedAt)) * 1_000
  } finally {
    await producer.close()
  }
}
