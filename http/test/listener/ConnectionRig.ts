// Connections over wires in memory. The test is the client, the route and the clock.

import { addressGroupOf } from "@punctual/door/addressGroupOf"
import type { HttpAnswer } from "../../src/HttpAnswer.ts"
import type { HttpRequest } from "../../src/HttpRequest.ts"
import { ClientConnection } from "../../src/listener/ClientConnection.ts"
import { ClientConnections } from "../../src/listener/ClientConnections.ts"
import { type ConnectionLimits, defaultConnectionLimits } from "../../src/listener/ConnectionLimits.ts"
import { RefusedConnections } from "../../src/listener/RefusedConnections.ts"
import type { Wire, WireEvents } from "../../src/listener/Wire.ts"

export class MemoryWire implements Wire {
  readonly remoteAddress: string
  received = ""
  writes = 0
  /** The size of the memory that the last write had a view of. */
  lastBufferBytes = 0
  /** How many bytes the client still takes. */
  room = Number.POSITIVE_INFINITY
  isPaused = false
  state: "open" | "shutdown" | "ended" | "terminated" = "open"
  /** Set when the listener has accepted or refused the wire. */
  events: WireEvents | undefined

  constructor(remoteAddress: string) {
    this.remoteAddress = remoteAddress
  }

  write(data: string | Uint8Array): number {
    const bytes = Buffer.from(data as string)
    const taken = bytes.subarray(0, Math.min(bytes.length, this.room))
    this.room -= taken.length
    this.received += taken.toString()
    this.writes++
    if (typeof data !== "string") this.lastBufferBytes = data.buffer.byteLength
    return taken.length
  }

  shutdown(): void {
    this.state = "shutdown"
  }

  end(): void {
    this.state = "ended"
  }

  terminate(): void {
    this.state = "terminated"
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  /** The client sends this. */
  send(text: string): void {
    this.events?.onData(Buffer.from(text))
  }

  /** The client reads more. */
  read(bytes = Number.POSITIVE_INFINITY): void {
    this.room = bytes
    this.events?.onDrain()
  }

  /** The statuses of all answers so far. */
  get statuses(): ReadonlyArray<number> {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  }

  /** The last lines of all answers with a body of one line. */
  get bodies(): ReadonlyArray<string> {
    return [...this.received.matchAll(/\r\n\r\n(.*?)(?=HTTP\/1\.1|$)/g)].map(([, body = ""]) => body)
  }
}

export interface HeldRequest {
  readonly request: HttpRequest
  answer(answer?: Partial<HttpAnswer>): Promise<void>
  fail(error: Error): Promise<void>
}

export class ConnectionRig {
  readonly connections: ClientConnections
  readonly refused: RefusedConnections
  /** Requests that reached the route. */
  readonly requests: Array<HeldRequest> = []
  readonly defects: Array<unknown> = []
  readonly metrics = { open: 0, refused: [] as Array<string>, closed: [] as Array<string> }
  /** If present, every request is answered at once. */
  answersAtOnce: ((request: HttpRequest) => HttpAnswer) | undefined
  /** The next one of the longer turns begins only when the test says so. */
  holdsTurns = false
  readonly #heldTurns: Array<() => void> = []
  #nowMs = 0

  constructor(limits: Partial<ConnectionLimits> = {}) {
    const all = { ...defaultConnectionLimits, ...limits }
    this.connections = new ClientConnections(
      all,
      {
        open: (count) => {
          this.metrics.open = count
        },
        refused: (reason) => this.metrics.refused.push(reason),
        closed: (reason) => this.metrics.closed.push(reason),
      },
      0,
      {
        // A slow machine must not use up the time of a turn.
        nowMs: () => 0,
        after: (_, work) => {
          if (this.holdsTurns) this.#heldTurns.push(work)
          else setImmediate(work)
        },
      },
    )
    this.refused = new RefusedConnections(all, "sample", 0)
  }

  connect(remoteAddress = "10.0.0.1", isSecure = false): MemoryWire {
    const wire = new MemoryWire(remoteAddress)
    const group = addressGroupOf(remoteAddress)
    const reason = this.connections.whyRefused(group)
    wire.events =
      reason === undefined
        ? new ClientConnection(wire, group, {
            connections: this.connections,
            handle: (request) => this.#handle(request),
            onDefect: (error) => this.defects.push(error),
            isSecure,
          })
        : this.refused.refuse(wire, reason)
    return wire
  }

  /** Time passes. */
  pass(ms: number): void {
    this.#nowMs += ms
    this.connections.sweep(this.#nowMs)
    this.refused.sweep(this.#nowMs)
  }

  beginTurns(): void {
    for (const begin of this.#heldTurns.splice(0)) begin()
  }

  /** The request that reached the route as the `index`th. */
  at(index: number): HeldRequest {
    const held = this.requests[index]
    if (held === undefined) throw new Error(`only ${this.requests.length} requests reached the route`)
    return held
  }

  #handle(request: HttpRequest): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
    this.requests.push({
      request,
      answer: async (answer) => {
        resolve({ status: 200, headers: {}, body: `answer to ${request.path}`, ...answer })
        await turn()
      },
      fail: async (error) => {
        reject(error)
        await turn()
      },
    })
    return this.answersAtOnce === undefined ? promise : Promise.resolve(this.answersAtOnce(request))
  }
}

/** One turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
