// One connection of the plain HTTP client. It carries one exchange at a time, and is kept for the next one if the answer
// has ended exactly where it said.
import type { AnswerHead } from "./AnswerHead.ts"
import { AnswerReader } from "./AnswerReader.ts"
import type { ClientSocket, OpenSocket } from "./openSocket.ts"

/** One request, and who listens to its answer. */
export interface PlainExchange {
  readonly address: string
  readonly port: number
  /** The whole request. */
  readonly bytes: Uint8Array
  /** How much of the body is wanted. 0: the answer is over when its head is there. */
  readonly bytesWanted: (head: AnswerHead) => number
  /** The answer. `isCut`: the body was longer than wanted, or did not come in time. */
  readonly onAnswer: (head: AnswerHead, body: Uint8Array, isCut: boolean) => void
  readonly onFailure: (error: PlainFailure) => void
  /** The connection that carries the exchange. Only the client sets it. */
  carrier: PlainConnection | undefined
}

/** The codes are those of the system if it has one. */
export class PlainFailure extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export interface PlainConnectionEvents {
  /** The connection can carry the next exchange. */
  readonly onIdle: (connection: PlainConnection) => void
  readonly onClose: (connection: PlainConnection) => void
  /** A kept connection closed before anything of the answer arrived, as servers close kept connections at any time. */
  readonly onStale: (exchange: PlainExchange) => void
}

/** An unwanted body of at most this size is read to its end, so that the connection can be kept. */
const drainBytesMax = 64 * 1024
/** And at most for this long. */
const drainMs = 1_000

export class PlainConnection {
  readonly name: string
  /** Monotonic. When it was last used. */
  usedAtMs = 0
  readonly #events: PlainConnectionEvents
  #socket: ClientSocket | undefined
  #exchange: PlainExchange | undefined
  readonly #reader = new AnswerReader()
  #unsent: Uint8Array | undefined
  #drainTimer: ReturnType<typeof setTimeout> | undefined
  #isReused = false
  #isClosed = false

  constructor(first: PlainExchange, open: OpenSocket, events: PlainConnectionEvents) {
    this.#events = events
    this.name = nameOf(first)
    this.#exchange = first
    this.#unsent = first.bytes
    open(first.address, first.port, {
      onOpen: (socket) => this.#onOpen(socket),
      onData: (bytes) => this.#onData(bytes),
      onDrain: () => this.#write(),
      onClose: () => this.#onClose(),
      onError: (code) => this.#fail(code),
    })
  }

  /** The connection is kept and free. */
  send(exchange: PlainExchange): void {
    this.#isReused = true
    this.#exchange = exchange
    this.#reader.reset()
    this.#unsent = exchange.bytes
    this.#write()
  }

  /** Ends the exchange without an answer, if it still runs. */
  abandon(exchange: PlainExchange): void {
    if (this.#exchange !== exchange) return
    this.#exchange = undefined
    this.close()
  }

  /** The rest of the body is not wanted any more. Answers with the part that has arrived. */
  cut(exchange: PlainExchange): void {
    const { head, kept } = this.#reader
    if (this.#exchange !== exchange || head === undefined) return
    this.#exchange = undefined
    this.close()
    exchange.onAnswer(head, kept, true)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#drainTimer)
    this.#socket?.terminate()
    this.#events.onClose(this)
  }

  #onOpen(socket: ClientSocket): void {
    this.#socket = socket
    if (this.#isClosed) {
      socket.terminate()
      return
    }
    this.#write()
  }

  #write(): void {
    const bytes = this.#unsent
    if (bytes === undefined || this.#socket === undefined) return
    const taken = this.#socket.write(bytes)
    if (taken < 0) this.#onClose()
    else this.#unsent = taken < bytes.length ? bytes.subarray(taken) : undefined
  }

  #onData(bytes: Buffer): void {
    if (this.#isClosed) return
    // Nobody has asked for anything.
    if (this.#exchange === undefined && this.#drainTimer === undefined) {
      this.close()
      return
    }
    this.#reader.push(bytes)
    let progress = this.#reader.next()
    if (progress === "head") {
      this.#onHead()
      if (this.#isClosed) return
      progress = this.#reader.next()
    }
    if (progress === "malformed") this.#fail("malformedAnswer")
    else if (progress === "end") this.#onEnd()
    else if (progress === "full") this.#onFull()
    else if (this.#exchange === undefined) this.#drainSoon()
  }

  #onHead(): void {
    const exchange = this.#exchange
    const { head } = this.#reader
    if (exchange === undefined || head === undefined) return
    const wanted = exchange.bytesWanted(head)
    this.#reader.keep(wanted)
    if (wanted > 0) return
    // The rest of the answer, if there is any, is only read so that the connection can be kept.
    this.#exchange = undefined
    exchange.onAnswer(head, nothing, false)
  }

  #onEnd(): void {
    const exchange = this.#exchange
    const { head, kept, droppedBytes, restBytes } = this.#reader
    this.#exchange = undefined
    clearTimeout(this.#drainTimer)
    this.#drainTimer = undefined
    // An answer before the end of the request, or more bytes than the answer has: nothing may follow on the connection.
    if (head?.keepsAlive === true && restBytes === 0 && this.#unsent === undefined) this.#events.onIdle(this)
    else this.close()
    if (exchange !== undefined && head !== undefined) exchange.onAnswer(head, kept, droppedBytes > 0)
  }

  /** There is more of the body than is wanted. */
  #onFull(): void {
    const exchange = this.#exchange
    if (exchange !== undefined) this.cut(exchange)
    else if (this.#reader.droppedBytes > drainBytesMax) this.close()
    else this.#drainSoon()
  }

  #drainSoon(): void {
    const head = this.#reader.head
    const isLong = typeof head?.bodyBytes === "number" && head.bodyBytes > drainBytesMax
    if (isLong || head?.keepsAlive !== true) this.close()
    else this.#drainTimer ??= setTimeout(() => this.close(), drainMs)
  }

  #onClose(): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    const { head, kept } = this.#reader
    const isStale = this.#isReused && this.#reader.isUntouched
    const isComplete = this.#reader.closed()
    this.close()
    if (exchange === undefined) return
    if (head !== undefined && isComplete) exchange.onAnswer(head, kept, this.#reader.droppedBytes > 0)
    // The status of a failure counts, though its text is not complete.
    else if (head !== undefined && head.status >= 300) exchange.onAnswer(head, kept, true)
    else if (isStale) this.#events.onStale(exchange)
    else exchange.onFailure(new PlainFailure("ECONNRESET"))
  }

  #fail(code: string): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    const isStale = this.#isReused && this.#reader.isUntouched && code !== "malformedAnswer"
    this.close()
    if (exchange === undefined) return
    if (isStale) this.#events.onStale(exchange)
    else exchange.onFailure(new PlainFailure(code))
  }
}

/** Exchanges with the same name may use the same connection. */
export const nameOf = ({ address, port }: Pick<PlainExchange, "address" | "port">): string =>
  `${address} ${port}`

const nothing = new Uint8Array(0)
