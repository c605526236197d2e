// Another service on the broker, as its authors would write it: a NATS client, JSON, and the words of the bus contract.
// It shares no code with the product, so it sees exactly what is on the wire.
import { randomUUID } from "node:crypto"
import {
  AckPolicy,
  connect,
  headers,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type NatsConnection,
} from "../../drivers/nats/nats.ts"
import { eventually } from "./eventually.ts"

export interface Heard {
  readonly subject: string
  readonly messageId: string
  /** When the broker stored it, in ms. */
  readonly storedAtMs: number
  readonly headers: Readonly<Record<string, string>>
  readonly envelope: {
    readonly id: string
    readonly type: string
    readonly tenantId: string
    readonly aggregateId: string
    readonly timestampMs: number
    readonly correlationId?: string
    readonly causationId?: string
    readonly payload: {
      readonly serviceCallId: string
      readonly reachedAt: string
      readonly payload?: unknown
    }
  }
  /** The message as it was on the wire. */
  readonly text: string
}

export type Cancelling = Pick<Scheduling, "tenant" | "serviceCallId" | "timestampMs">

export interface Scheduling {
  readonly tenant: string
  readonly serviceCallId: string
  readonly dueAtMs: number
  readonly correlationId?: string
  /** Now by default. */
  readonly timestampMs?: number
  /** Further members of the command. */
  readonly more?: Readonly<Record<string, unknown>>
}

const consumerName = "listener"

/** Where messages are on the broker. */
export interface Layout {
  readonly stream: string
  /** Subjects are <prefix>.<tenant>.<…>. */
  readonly prefix: string
  readonly commands: string
  readonly events: string
}

const shared: Layout = { stream: "svc", prefix: "svc", commands: "serviceCall", events: "serviceCall" }

export class PlainBusClient implements AsyncDisposable {
  /** Every DueTimeReached on the broker, in the broker's order. */
  readonly reached: Array<Heard> = []
  readonly manager: JetStreamManager
  readonly #connection: NatsConnection
  readonly #layout: Layout
  #listening: Promise<void> = Promise.resolve()
  #isClosing = false

  private constructor(connection: NatsConnection, manager: JetStreamManager, layout: Layout) {
    this.#connection = connection
    this.#layout = layout
    this.manager = manager
  }

  static async connected(address: string, layout: Layout = shared): Promise<PlainBusClient> {
    const connection = await connect({ servers: address, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
    return new PlainBusClient(connection, await jetstreamManager(connection, { checkAPI: false }), layout)
  }

  /** Receives every event from the first one on. The stream must exist. */
  async listen(): Promise<void> {
    const { stream, prefix, events } = this.#layout
    await this.manager.consumers.add(stream, {
      durable_name: consumerName,
      filter_subject: `${prefix}.*.${events}`,
      ack_policy: AckPolicy.None,
    })
    const consumer = await jetstream(this.#connection).consumers.get(stream, consumerName)
    const messages = await consumer.consume({ max_messages: 1_000 })
    this.#listening = (async () => {
      for await (const message of messages) {
        const text = message.string()
        const envelope = parsed(text)
        if (envelope?.type === "DueTimeReached") {
          this.reached.push({
            subject: message.subject,
            messageId: message.headers?.get("Nats-Msg-Id") ?? "",
            storedAtMs: message.time.getTime(),
            headers: Object.fromEntries(
              (message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? ""]),
            ),
            envelope,
            text,
          })
        }
        if (this.#isClosing) break
      }
    })()
  }

  async schedule(scheduling: Scheduling): Promise<void> {
    const { tenant, serviceCallId, dueAtMs, correlationId, timestampMs = Date.now(), more } = scheduling
    const id = randomUUID()
    await this.send(
      tenant,
      JSON.stringify({
        id,
        type: "ScheduleTimer",
        tenantId: tenant,
        aggregateId: serviceCallId,
        timestampMs,
        correlationId,
        payload: { tenantId: tenant, serviceCallId, dueAt: new Date(dueAtMs).toISOString(), ...more },
      }),
      id,
    )
  }

  async cancel({ tenant, serviceCallId, timestampMs = Date.now() }: Cancelling): Promise<void> {
    const id = randomUUID()
    const head = { id, type: "CancelTimer", tenantId: tenant, aggregateId: serviceCallId, timestampMs }
    await this.send(tenant, JSON.stringify({ ...head, payload: { tenantId: tenant, serviceCallId } }), id)
  }

  /**
   * Sends any text to the tenant's subject. While the broker does not answer, it sends the text again under the same
   * id.
   */
  async send(tenant: string, text: string, id: string = randomUUID()): Promise<void> {
    const head = headers()
    head.set("tenantId", tenant)
    const stream = jetstream(this.#connection)
    const subject = `${this.#layout.prefix}.${tenant}.${this.#layout.commands}`
    await eventually(`the broker takes a message of ${tenant}`, () =>
      stream.publish(subject, text, { msgID: id, headers: head, timeout: 1_000 }).then(
        () => true,
        () => undefined,
      ),
    )
  }

  reachedFor(serviceCallId: string): ReadonlyArray<Heard> {
    return this.reached.filter(({ envelope }) => envelope.aggregateId === serviceCallId)
  }

  /** Waits until the timer consumer has nothing left to do. */
  async untilHandled(): Promise<void> {
    await eventually("all commands are handled", async () => {
      const { num_pending, num_ack_pending } = await this.manager.consumers.info(
        this.#layout.stream,
        "punctual",
      )
      return num_pending === 0 && num_ack_pending === 0 ? true : undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await this.#connection.close()
    await this.#listening
  }
}

const parsed = (text: string): Heard["envelope"] | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
