// Another service on a broker, as its authors would write it: a client of the broker, JSON, and the words of the bus
// contract. It shares no code with the product, so it sees exactly what is on the wire.
import { randomUUID } from "node:crypto"
import type { Cancelling, Heard, Scheduling } from "./PlainBusClient.ts"

export abstract class PlainPeer implements AsyncDisposable {
  /** Every DueTimeReached, in the order in which the broker delivered them. */
  readonly reached: Array<Heard> = []

  /** Receives every event, also after the broker was away. The places of the service must exist. */
  abstract listen(): Promise<void>

  /** Sends any text with the key. While the broker does not confirm it, it sends the text again. */
  abstract send(tenant: string, serviceCallId: string, text: string, id?: string): Promise<void>

  abstract [Symbol.asyncDispose](): Promise<void>

  async schedule(scheduling: Scheduling): Promise<void> {
    const { tenant, serviceCallId, dueAtMs, correlationId, timestampMs = Date.now(), more } = scheduling
    const id = randomUUID()
    const head = { id, type: "ScheduleTimer", tenantId: tenant, aggregateId: serviceCallId, timestampMs }
    const payload = { tenantId: tenant, serviceCallId, dueAt: new Date(dueAtMs).toISOString(), ...more }
    await this.send(tenant, serviceCallId, JSON.stringify({ ...head, correlationId, payload }), id)
  }

  async cancel({ tenant, serviceCallId, timestampMs = Date.now() }: Cancelling): Promise<void> {
    const id = randomUUID()
    const head = { id, type: "CancelTimer", tenantId: tenant, aggregateId: serviceCallId, timestampMs }
    const text = JSON.stringify({ ...head, payload: { tenantId: tenant, serviceCallId } })
    await this.send(tenant, serviceCallId, text, id)
  }

  reachedFor(serviceCallId: string): ReadonlyArray<Heard> {
    return this.reached.filter(({ envelope }) => envelope.aggregateId === serviceCallId)
  }

  /** Keeps an event. Any other message is ignored. */
  note(message: Omit<Heard, "envelope">): void {
    const envelope = parsed(message.text)
    if (envelope?.type === "DueTimeReached") this.reached.push({ ...message, envelope })
  }
}

const parsed = (text: string): Heard["envelope"] | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
