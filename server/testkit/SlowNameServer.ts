// A name server that never answers for names that begin with `slow`. All other names have the address 127.0.0.1.

/** The socket of the runtime. */
type Socket = Bun.udp.Socket<"buffer">

const headerBytes = 12
const typeA = 1
/** A response to a recursive query. */
const answerFlags = 0x8180

export class SlowNameServer implements AsyncDisposable {
  /** Names that were asked for and got no answer. */
  readonly hanging = new Set<string>()
  #socket: Socket | undefined

  static async listening(): Promise<SlowNameServer> {
    const server = new SlowNameServer()
    server.#socket = await Bun.udpSocket({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket, query, port, address) => {
          const answer = server.#answer(query)
          if (answer !== undefined) socket.send(answer, port, address)
        },
      },
    })
    return server
  }

  get address(): string {
    return `127.0.0.1:${this.#socket?.port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.close()
  }

  #answer(query: Buffer): Buffer | undefined {
    const labels: Array<string> = []
    let at = headerBytes
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length))
      at += length + 1
    }
    const name = labels.join(".").toLowerCase()
    if (name.startsWith("slow")) {
      this.hanging.add(name)
      return undefined
    }
    const question = query.subarray(headerBytes, at + 5)
    const hasAddress = query.readUInt16BE(at + 1) === typeA
    const header = Buffer.alloc(headerBytes)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(answerFlags, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(hasAddress ? 1 : 0, 6)
    // A pointer to the name of the question, type A, class IN, a TTL of 0, and 4 bytes of address.
    const record = hasAddress
      ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1])
      : Buffer.alloc(0)
    return Buffer.concat([header, question, record])
  }
}
