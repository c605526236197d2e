// A client that writes bytes as the test says, and reads only when it is told to.
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { eventually } from "@punctual/server/testkit/eventually"

export interface RawClientOptions {
  readonly port: number
  readonly host?: string
  /** Connects from this address of the machine. */
  readonly from?: string
  /** Uses TLS, with this authority as PEM. */
  readonly ca?: string
}

export class RawClient implements Disposable {
  readonly socket: Socket
  received = ""
  isClosed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", (bytes: Buffer) => {
      this.received += bytes.toString("latin1")
    })
    socket.on("error", () => undefined)
    socket.on("close", () => {
      this.isClosed = true
    })
  }

  static connected({ port, host = "127.0.0.1", from, ca }: RawClientOptions): Promise<RawClient> {
    const where = { port, host, allowHalfOpen: true, ...(from === undefined ? {} : { localAddress: from }) }
    return new Promise((resolve, reject) => {
      const socket = ca === undefined ? connect(where) : connectTls({ ...where, ca })
      socket.once("error", reject)
      socket.once(ca === undefined ? "connect" : "secureConnect", () => resolve(new RawClient(socket)))
    })
  }

  send(text: string): this {
    this.socket.write(text)
    return this
  }

  get statuses(): ReadonlyArray<number> {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  }

  /** Waits for this many answers, or for the end of the connection. */
  async answers(count: number): Promise<ReadonlyArray<number>> {
    return eventually(`${count} answers`, () =>
      this.statuses.length >= count || this.isClosed ? this.statuses : undefined,
    )
  }

  async closed(): Promise<void> {
    await eventually("the connection is closed", () => (this.isClosed ? true : undefined))
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** A create, as bytes. */
export const createRequest = (timerId: string, namespace = "raw"): string => {
  const body = JSON.stringify({ namespace, timerId, delay: "1h", callbackUrl: "http://127.0.0.1:9/" })
  return `${createHeadOf(body.length)}${body}`
}

export const createHeadOf = (length: number): string =>
  `POST /api/v1/timers/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

export const getRequest = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
