// A network between a MongoDB client and its server that knows where a command begins. A test decides what happens to
// each command: it arrives, it is lost with the whole connection, its answer is lost, it waits, or it arrives twice.

import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"

export interface SeenCommand {
  /** Such as `update`. */
  readonly name: string
  readonly collection: string
}

/**
 * `cutBefore`: the client dies before it sends the command. `cutAfter`: the client dies after the server has executed
 * it. `twice`: the client gets no answer, sends the command again, and gets the second answer.
 */
export type CommandFate = "pass" | "cutBefore" | "cutAfter" | "twice"

const headerBytes = 16
/** Flags, and the kind of the first section. */
const beforeDocument = headerBytes + 4 + 1

export class MongoProxy implements AsyncDisposable {
  /** Decides about each command that names a collection. */
  decide: (command: SeenCommand) => CommandFate | Promise<CommandFate> = () => "pass"
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  private constructor(server: Server) {
    this.#server = server
  }

  static async to(host: string, port: number): Promise<MongoProxy> {
    const server = createServer()
    const proxy = new MongoProxy(server)
    server.on("connection", (client) => proxy.#join(client, connect(port, host)))
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return proxy
  }

  /** host:port. */
  get address(): string {
    const address = this.#server.address()
    return `127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cut()
    this.#server.close()
  }

  /** As if the client's process had been killed: its connections end, and it never connects again. */
  #cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(client: Socket, server: Socket): void {
    if (this.#isCut) {
      client.destroy()
      server.destroy()
      return
    }
    const swallowed = new Set<number>()
    const cutters = new Set<number>()
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on("error", () => {})
    }
    // A command that waits still reaches the server after its client has given up.
    client.on("close", () => this.#sockets.delete(client))
    server.on("close", () => client.destroy())
    onMessages(client, (message) => this.#forward(message, server, swallowed, cutters))
    onMessages(server, async (message) => {
      const answered = message.readInt32LE(8)
      if (cutters.has(answered)) this.#cut()
      else if (!swallowed.delete(answered)) client.write(message)
    })
  }

  async #forward(
    message: Buffer,
    server: Socket,
    swallowed: Set<number>,
    cutters: Set<number>,
  ): Promise<void> {
    const command = commandIn(message)
    const fate = command === undefined ? "pass" : await this.decide(command)
    if (this.#isCut) return
    const id = message.readInt32LE(4)
    if (fate === "cutBefore") {
      this.#cut()
      return
    }
    if (fate === "cutAfter") cutters.add(id)
    if (fate === "twice") {
      swallowed.add(id)
      server.write(message)
    }
    server.write(message)
  }
}

/** Messages are handled one after the other. */
const onMessages = (socket: Socket, handle: (message: Buffer) => Promise<void>): void => {
  let rest = Buffer.alloc(0)
  let last: Promise<void> = Promise.resolve()
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.byteLength >= headerBytes && rest.byteLength >= rest.readInt32LE(0)) {
      const message = Buffer.from(rest.subarray(0, rest.readInt32LE(0)))
      rest = rest.subarray(message.byteLength)
      last = last.then(() => handle(message))
    }
  })
}

/** The first element of the document is the command's name and its collection. */
const commandIn = (message: Buffer): SeenCommand | undefined => {
  const isOfMessages = message.readInt32LE(12) === 2013
  const typeOfText = 2
  const type = beforeDocument + 4
  if (!isOfMessages || message[type] !== typeOfText) return undefined
  const end = message.indexOf(0, type + 1)
  const length = message.readInt32LE(end + 1)
  const text = message.subarray(end + 5, end + 4 + length).toString()
  return { name: message.subarray(type + 1, end).toString(), collection: text }
}
