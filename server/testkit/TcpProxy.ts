// A network between a client and any server that fails on demand. It cuts connections, drops bytes in either direction,
// or delays bytes, even until their sender has given up. It knows no protocol.
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"

export interface TcpProxyTarget {
  readonly host: string
  readonly port: number
}

type Direction = "toServer" | "fromServer"

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** Bytes that the client has sent and the server has not received. Absent while everything passes. */
  held?: Array<Buffer>
}

export class TcpProxy implements AsyncDisposable {
  readonly #target: TcpProxyTarget
  readonly #listener: Server
  readonly #links = new Set<Link>()
  readonly #isDropping: Record<Direction, boolean> = { toServer: false, fromServer: false }
  #isCut = false
  #delayMs = 0
  #droppedBytes = 0
  #holdsFrom: { left: number; readonly onHeld: () => void } | undefined

  private constructor(target: TcpProxyTarget) {
    this.#target = target
    this.#listener = createServer((client) => this.#accept(client))
  }

  /** Listens on a loopback port, a free one by default, and forwards everything. */
  static async before(target: TcpProxyTarget, port = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await new Promise<void>((resolve, reject) => {
      proxy.#listener.once("error", reject)
      proxy.#listener.listen(port, "127.0.0.1", resolve)
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

  /** How many bytes were dropped so far, in either direction. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /** Ends every connection, and each new one at once, until `heal`. */
  cut(): void {
    this.#isCut = true
    for (const link of this.#links) this.#end(link)
  }

  /** Drops what clients send. The connections stay open. */
  blackholeToServer(): void {
    this.#isDropping.toServer = true
  }

  /** Drops what the server sends. The connections stay open. */
  blackholeFromServer(): void {
    this.#isDropping.fromServer = true
  }

  /** Forwards each read later by this much. Bytes keep their order. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs
  }

  /** From now on, keeps what clients send over the existing connections. New connections work normally. */
  hold(): void {
    for (const link of this.#links) link.held ??= []
  }

  /**
   * Forwards what clients send until the read of this number, counted from now on. Then it calls `onHeld`, and keeps this
   * read and all later ones, until `letGo`.
   */
  holdFrom(read: number, onHeld: () => void): void {
    this.#holdsFrom = { left: read, onHeld }
  }

  /** Forwards what was held, and everything from now on. The connections stay open. */
  letGo(): void {
    this.#holdsFrom = undefined
    for (const link of this.#links) {
      const { held, server } = link
      delete link.held
      if (held !== undefined && held.length > 0 && !server.destroyed) server.write(Buffer.concat(held))
    }
  }

  /** Whether this text is among the held bytes. */
  isHolding(text: string): boolean {
    return [...this.#links].some(({ held }) => Buffer.concat(held ?? []).includes(text))
  }

  /** Ends the held connections, but only on the side of their clients. */
  cutHeld(): void {
    for (const { client, held } of this.#links) if (held !== undefined) client.destroy()
  }

  /** Forwards the held bytes, and returns what the servers replied. For connections whose clients are gone. */
  async release(): Promise<string> {
    const held = [...this.#links].filter((link) => link.held !== undefined && link.held.length > 0)
    const answers = await Promise.all(
      held.map(async ({ server, held }) => {
        const answered = once(server, "data")
        server.write(Buffer.concat(held ?? []))
        const [answer]: ReadonlyArray<Buffer> = await answered
        return answer?.toString("latin1") ?? ""
      }),
    )
    for (const link of held) this.#end(link)
    return answers.join("\n")
  }

  /** New connections work normally again. Cut connections that lost bytes first. */
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
      if (direction === "toServer") this.#countRead()
      if (direction === "toServer" && link.held !== undefined) {
        link.held.push(chunk)
        return
      }
      if (this.#isDropping[direction]) {
        this.#droppedBytes += chunk.length
        return
      }
      if (this.#delayMs === 0) {
        if (sink.destroyed) return
        // A slow sink stops its source, so the proxy keeps no queue of its own.
        if (!sink.write(chunk)) this.#holdUntilDrained(source, sink)
        return
      }
      source.pause()
      setTimeout(() => {
        if (!sink.destroyed) sink.write(chunk)
        if (!source.destroyed) source.resume()
      }, this.#delayMs)
    })
    const ended = () => {
      // Held bytes stay when their sender is gone.
      if (direction === "fromServer" || link.held === undefined) this.#end(link)
    }
    source.on("error", ended)
    source.on("close", ended)
  }

  #countRead(): void {
    const counted = this.#holdsFrom
    if (counted === undefined || --counted.left !== 0) return
    this.hold()
    counted.onHeld()
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
