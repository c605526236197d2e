// A network that fails on demand, between a client and any server: connections cut, bytes that vanish on the way
// there or back, bytes that come late. It knows no protocol.
import { connect, createServer, type Server, type Socket } from "node:net"

export interface TcpProxyTarget {
  readonly host: string
  readonly port: number
}

type Direction = "toServer" | "fromServer"

interface Link {
  readonly client: Socket
  readonly server: Socket
}

export class TcpProxy implements AsyncDisposable {
  readonly #target: TcpProxyTarget
  readonly #listener: Server
  readonly #links = new Set<Link>()
  readonly #isDropping: Record<Direction, boolean> = { toServer: false, fromServer: false }
  #isCut = false
  #delayMs = 0
  #droppedBytes = 0

  private constructor(target: TcpProxyTarget) {
    this.#target = target
    this.#listener = createServer((client) => this.#accept(client))
  }

  /** Listens on a free loopback port and passes everything on. */
  static async before(target: TcpProxyTarget): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await new Promise<void>((resolve, reject) => {
      proxy.#listener.once("error", reject)
      proxy.#listener.listen(0, "127.0.0.1", resolve)
    })
    return proxy
  }

  get port(): number {
    const address = this.#listener.address()
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen")
    return address.port
  }

  /** host:port. */
  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  get connections(): number {
    return this.#links.size
  }

  /** Bytes that vanished so far, in either direction. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /** Ends every connection, and each new one at once, until it is healed. */
  cut(): void {
    this.#isCut = true
    for (const link of this.#links) this.#end(link)
  }

  /** What clients send vanishes; the connections stay. */
  blackholeToServer(): void {
    this.#isDropping.toServer = true
  }

  /** What the server sends vanishes; the connections stay. */
  blackholeFromServer(): void {
    this.#isDropping.fromServer = true
  }

  /** Each read is passed on so much later; what follows it waits, so that bytes keep their order. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs
  }

  /** All is well again for new connections; those that lost bytes should be cut first. */
  heal(): void {
    this.#isCut = false
    this.#isDropping.toServer = false
    this.#isDropping.fromServer = false
    this.#delayMs = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()))
  }

  #accept(client: Socket): void {
    if (this.#isCut) {
      client.on("error", () => {})
      client.destroy()
      return
    }
    const link: Link = { client, server: connect(this.#target.port, this.#target.host) }
    this.#links.add(link)
    this.#pass("toServer", link, client, link.server)
    this.#pass("fromServer", link, link.server, client)
  }

  #pass(direction: Direction, link: Link, source: Socket, sink: Socket): void {
    source.setNoDelay(true)
    source.on("data", (chunk: Buffer) => {
      if (this.#isDropping[direction]) {
        this.#droppedBytes += chunk.length
        return
      }
      if (this.#delayMs === 0) {
        // A sink that is slow holds its source back: the proxy keeps no queue of its own.
        if (!sink.write(chunk)) this.#holdUntilDrained(source, sink)
        return
      }
      source.pause()
      setTimeout(() => {
        if (!sink.destroyed) sink.write(chunk)
        if (!source.destroyed) source.resume()
      }, this.#delayMs)
    })
    source.on("error", () => this.#end(link))
    source.on("close", () => this.#end(link))
  }

  #holdUntilDrained(source: Socket, sink: Socket): void {
    source.pause()
    sink.once("drain", () => source.resume())
  }

  #end(link: Link): void {
    this.#links.delete(link)
    link.client.destroy()
    link.server.destroy()
  }
}
