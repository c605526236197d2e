// A network that fails on demand, between a client and any server: connections cut, bytes that vanish on the way
// there or back, bytes that come late, even after their sender has given them up. It knows no protocol.
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
  /** What the client has sent and the server has not got; absent where everything passes. */
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

  /** What clients send from now on, over the connections there are, stays here; new connections are as ever. */
  hold(): void {
    for (const link of this.#links) link.held ??= []
  }

  /** Whether this text is among what is held. */
  isHolding(text: string): boolean {
    return [...this.#links].some(({ held }) => Buffer.concat(held ?? []).includes(text))
  }

  /** Ends the connections that are held, for their clients only. */
  cutHeld(): void {
    for (const { client, held } of this.#links) if (held !== undefined) client.destroy()
  }

  /** Passes on what is held, and answers what the servers said to it. For connections whose clients are gone. */
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
    const ended = () => {
      // What is held outlives its sender.
      if (direction === "fromServer" || link.held === undefined) this.#end(link)
    }
    source.on("error", ended)
    source.on("close", ended)
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
