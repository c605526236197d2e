// One connection of an attacker or of another client, on a raw socket from an address of its own. `fetch` would not do:
// it takes no local address, sends no unfinished requests, and reads every answer. The service limits connections by
// address, so these clients must not share the address of the good namespace.
import { AnswerReader } from "./AnswerReader.ts"

export interface RawConnectionOptions {
  /** Where the service listens. */
  readonly url: string
  /** The local address. */
  readonly from: string
  /** False for a client that never reads its answers. */
  readonly isReading?: boolean
  readonly onOpen: (connection: RawConnection) => void
  readonly onAnswer?: (status: number, connection: RawConnection) => void
  /** For answers that do not end: each piece, as it arrives. */
  readonly onPiece?: (bytes: Buffer) => void
  /** The connection has ended or could not be opened. The client's own `close` does not call this. */
  readonly onEnd: (wasOpen: boolean) => void
}

export class RawConnection {
  readonly #options: RawConnectionOptions
  readonly #answers = new AnswerReader()
  #socket: Bun.Socket | undefined
  #unsent: Uint8Array = new Uint8Array()
  #hasEnded = false

  private constructor(options: RawConnectionOptions) {
    this.#options = options
  }

  static open(options: RawConnectionOptions): void {
    const connection = new RawConnection(options)
    const { hostname, port } = new URL(options.url)
    const terms = {
      hostname,
      port: Number(port),
      localAddress: options.from,
      socket: {
        open: (socket: Bun.Socket) => connection.#opened(socket),
        data: (_: Bun.Socket, bytes: Buffer) => connection.#read(bytes),
        drain: () => connection.#write(),
        close: () => connection.#ended(true),
        error: () => connection.#ended(true),
        connectError: () => connection.#ended(false),
      },
    }
    Bun.connect(terms).catch(() => connection.#ended(false))
  }

  /** Whether everything has been handed to the system. */
  get hasSentAll(): boolean {
    return this.#unsent.length === 0
  }

  /** One request after another: sends these bytes after everything that has not been sent. */
  send(bytes: Uint8Array): void {
    this.#unsent = this.#unsent.length === 0 ? bytes : Buffer.concat([this.#unsent, bytes])
    this.#write()
  }

  close(): void {
    this.#hasEnded = true
    this.#socket?.terminate()
  }

  #opened(socket: Bun.Socket): void {
    this.#socket = socket
    if (this.#options.isReading === false) socket.pause()
    this.#options.onOpen(this)
  }

  #read(bytes: Buffer): void {
    if (!this.#hasEnded) this.#options.onPiece?.(bytes)
    for (const status of this.#answers.read(bytes)) {
      if (this.#hasEnded) return
      this.#options.onAnswer?.(status, this)
    }
  }

  #write(): void {
    if (this.#hasEnded || this.#socket === undefined || this.#unsent.length === 0) return
    const written = this.#socket.write(this.#unsent)
    if (written > 0) this.#unsent = this.#unsent.subarray(written)
  }

  #ended(wasOpen: boolean): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#socket?.terminate()
    this.#options.onEnd(wasOpen)
  }
}
