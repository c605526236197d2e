// The bare limit of P5: the same client publishes the same events to the stream that Punctual created, with a fixed
// number at once. The broker acknowledges each.
import { connect, headers, jetstream } from "../../../drivers/nats/nats.ts"
import { samplePayload } from "../samplePayload.ts"

/** Returns messages per second. */
export const publishAll = async (address: string, messages: number, atOnce: number): Promise<number> => {
  const connection = await connect({ servers: address })
  try {
    const stream = jetstream(connection)
    const ids = Array.from({ length: messages }, () => Bun.randomUUIDv7())
    let started = 0
    const startedAt = performance.now()
    const publisher = async () => {
      for (let id = ids[started++]; id !== undefined; id = ids[started++]) {
        const head = headers()
        head.set("tenantId", "bench")
        head.set("serviceCallId", id)
        head.set("correlationId", id)
        const answer = await stream.publish("svc.bench.serviceCall", eventOf(id), {
          msgID: id,
          headers: head,
        })
        if (answer.duplicate) throw new Error("the broker already had this message")
      }
    }
    await Promise.all(Array.from({ length: atOnce }, publisher))
    return (messages / (performance.now() - startedAt)) * 1_000
  } finally {
    await connection.close()
  }
}

export const eventOf = (id: string): string => {
  const now = Date.now()
  return JSON.stringify({
    id,
    type: "DueTimeReached",
    tenantId: "bench",
    aggregateId: id,
    timestampMs: now,
    correlationId: id,
    payload: {
      tenantId: "bench",
      serviceCallId: id,
      reachedAt: new Date(now).toISOString(),
      payload: samplePayload,
    },
  })
}
