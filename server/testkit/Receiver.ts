// A real webhook target in the test's own process, on a free port. It keeps each delivery with the exact bytes of the
// payload. It replies as the test wants: at once, later, badly, or never.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Attempt, HistoryRecorder, Reply } from "./History.ts"

export interface Delivery extends Attempt {
  readonly path: string
  readonly receivedAtMs: number
}

export interface WebhookReply {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What the reply means by the webhook contract. */
  readonly meaning: Reply
}

export interface ReceiverOptions {
  readonly reply?: (delivery: Delivery) => WebhookReply | Promise<WebhookReply>
  readonly recorder?: HistoryRecorder
}

export const accepted: WebhookReply = { status: 204, meaning: { result: "delivered" } }

/** Asks for a retry. `waitMs` is the shortest wait of the timer's own policy. */
export const refusedFor = (waitMs: number): WebhookReply => ({
  status: 500,
  meaning: { result: "retry", notBeforeMs: Date.now() + waitMs },
})

/** A reply that never comes. */
export const silence: Promise<WebhookReply> = new Promise(() => {})

interface Waiter {
  readonly isEnough: (deliveries: ReadonlyArray<Delivery>) => boolean
  readonly resolve: () => void
}

export class Receiver implements AsyncDisposable {
  readonly deliveries: Array<Delivery> = []
  /** Requests that break the contract. A good run has none. */
  readonly malformed: Array<string> = []
  readonly #options: ReceiverOptions
  readonly #sockets = new Set<Socket>()
  readonly #waiters = new Set<Waiter>()
  readonly #server = createServer((request, response) => this.#receive(request, response))
  #replies = 0

  private constructor(options: ReceiverOptions) {
    this.#options = options
  }

  static async listening(options: ReceiverOptions = {}): Promise<Receiver> {
    const receiver = new Receiver(options)
    const server = receiver.#server
    server.on("connection", (socket) => {
      receiver.#sockets.add(socket)
      socket.once("close", () => receiver.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return receiver
  }

  get url(): string {
    // A server that listens on TCP has an address of this shape.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How many deliveries got their reply. */
  get replies(): number {
    return this.#replies
  }

  /** Waits for deliveries. The time limit only separates slow from never. */
  async until(
    what: string,
    isEnough: (deliveries: ReadonlyArray<Delivery>) => boolean,
    withinMs = 30_000,
  ): Promise<void> {
    if (isEnough(this.deliveries)) return
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        isEnough,
        resolve: () => {
          clearTimeout(timeout)
          resolve()
        },
      }
      const timeout = setTimeout(() => {
        this.#waiters.delete(waiter)
        reject(new Error(`not within ${withinMs} ms: ${what}; ${this.deliveries.length} deliveries so far`))
      }, withinMs)
      this.#waiters.add(waiter)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    // Another test may still probe a node that it has killed, and the system has given the port of that node to us.
    if (request.method === "GET" && request.url?.startsWith("/health/")) {
      response.writeHead(404).end()
      return
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    // A killed sender leaves half a request, which is not a delivery.
    request.on("error", () => {})
    request.on("end", () => {
      this.#accept(request, Buffer.concat(chunks), response).catch((error: unknown) => {
        this.malformed.push(String(error))
        response.writeHead(400).end()
      })
    })
  }

  async #accept(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const delivery = deliveryOf(request, body)
    this.deliveries.push(delivery)
    const number = this.#options.recorder?.attempted(delivery)
    for (const waiter of this.#waiters) {
      if (!waiter.isEnough(this.deliveries)) continue
      this.#waiters.delete(waiter)
      waiter.resolve()
    }
    const reply = await (this.#options.reply?.(delivery) ?? accepted)
    if (request.socket.destroyed) return
    this.#replies++
    if (number !== undefined) this.#options.recorder?.replied(number, reply.meaning)
    response.writeHead(reply.status, reply.headers)
    response.end(reply.body)
  }
}

interface Envelope {
  readonly type: string
  readonly namespace: string
  readonly timerId: string
  readonly fireId: string
  readonly attempt: number
  readonly epoch: number
  readonly revision: number
  readonly executeAt: string
  readonly firedAt: string
  readonly payload?: unknown
}

const deliveryOf = (request: IncomingMessage, body: Buffer): Delivery => {
  const receivedAtMs = Date.now()
  const envelope: Envelope = JSON.parse(body.toString())
  const { headers } = request
  const agrees =
    envelope.type === "timer.fired" &&
    headers["webhook-id"] === envelope.fireId &&
    headers["punctual-attempt"] === String(envelope.attempt) &&
    headers["punctual-epoch"] === String(envelope.epoch)
  if (!agrees) throw new Error(`headers and envelope disagree: ${body.toString()}`)
  const { namespace, timerId, fireId, attempt, epoch, revision } = envelope
  // The sender's time, unless the request arrived before that. Then it was sent earlier than the sender says.
  const firedAtMs = Math.min(Date.parse(envelope.firedAt), receivedAtMs)
  return {
    key: { namespace, timerId },
    fireId,
    attempt,
    epoch,
    revision,
    executeAtMs: Date.parse(envelope.executeAt),
    firedAtMs,
    beganAtMs: firedAtMs,
    ...("payload" in envelope ? { payload: payloadBytes(body) } : {}),
    path: request.url ?? "",
    receivedAtMs,
  }
}

/**
 * The exact bytes of the payload. The payload is the last member of the envelope. Before it are only strings and
 * numbers, and inside strings the quotes of this mark would be escaped.
 */
const payloadBytes = (body: Buffer): Uint8Array => {
  const mark = ',"payload":'
  const start = body.indexOf(mark)
  if (start < 0) throw new Error(`the envelope's payload is not where it should be: ${body.toString()}`)
  const payload = body.subarray(start + mark.length, body.lastIndexOf("}"))
  JSON.parse(payload.toString())
  return new Uint8Array(payload)
}
