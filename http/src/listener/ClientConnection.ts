// One connection: it reads requests, passes them on one at a time, and sends the answers in the same order. Requests
// that a client sends ahead wait, and the connection reads no more until they have their turn.
//
// A connection that closes sends its last answer, and drops what the client still sends for a limited time. If it closed at
// once, the client could lose the answer.
import { type HttpAnswer, isStream } from "../HttpAnswer.ts"
import type { HttpRequest } from "../HttpRequest.ts"
import { problemResponse } from "../problemResponse.ts"
import { answerHead, lastAnswerText } from "./answerHead.ts"
import { BadRequest, badRequestAnswer } from "./BadRequest.ts"
import type {
  ClientConnections,
  ConnectionPlace,
  Expired,
  OpenConnection,
  Phase,
} from "./ClientConnections.ts"
import { smallBodyPartBytes, unitsPerRequest } from "./ConnectionLimits.ts"
import { headTooSlow, madeRoom, tooManyBytes, unexpected } from "./connectionProblems.ts"
import { Exchange } from "./Exchange.ts"
import { OutgoingBytes } from "./OutgoingBytes.ts"
import { PartPace } from "./PartPace.ts"
import { type InputPart, RequestReader } from "./RequestReader.ts"
import type { TurnBudget } from "./TurnBudget.ts"
import { UnreadAnswer } from "./UnreadAnswer.ts"
import type { Wire, WireEvents } from "./Wire.ts"

export interface ConnectionOptions {
  readonly connections: ClientConnections
  readonly handle: (request: HttpRequest) => Promise<HttpAnswer>
  readonly onDefect: (error: unknown) => void
  /** Whether the connection uses TLS. */
  readonly isSecure: boolean
}

export class ClientConnection implements WireEvents, OpenConnection {
  readonly place: ConnectionPlace
  readonly #options: ConnectionOptions
  readonly #connections: ClientConnections
  readonly #wire: Wire
  readonly #remoteAddress: string
  readonly #reader = new RequestReader()
  readonly #outgoing: OutgoingBytes
  readonly #unread: UnreadAnswer
  readonly #partPace: PartPace
  #exchange: Exchange | undefined
  #streamed: Exchange | undefined
  /** The connection closes when everything is sent. It reads no more requests. */
  #isLast = false
  #hasLeft = false
  #isClosed = false
  #isInputEnded = false
  #isPaused = false
  #isAdvancing = false
  /** The size of the last part that arrived, or 0 after it has started a request. */
  #freshBytes = 0
  /** Where the connection waits for its turn. */
  #awaited: TurnBudget | undefined
  #isFlushQueued = false
  #aheadBytes = 0
  #onDrained: (() => void) | undefined

  constructor(wire: Wire, addressGroup: string, options: ConnectionOptions) {
    this.#wire = wire
    this.#remoteAddress = wire.remoteAddress
    this.#options = options
    this.#connections = options.connections
    this.#outgoing = new OutgoingBytes(wire)
    this.#unread = new UnreadAnswer(this, options.connections)
    const { smallPartsTurn: turn } = options.connections
    this.#partPace = new PartPace({ turn, addressGroup, onTurn: () => this.#settle() })
    this.place = options.connections.placeFor(addressGroup, options.isSecure ? "securing" : "idle")
    options.connections.enter(this)
  }

  onSecured(): void {
    if (this.place.phase === "securing") this.#moveTo("idle")
  }

  onData(bytes: Buffer): void {
    if (this.#isClosed) return
    if (this.#isLast) return void this.#drop(bytes.length)
    this.#reader.push(bytes)
    this.#freshBytes = bytes.length
    this.#advance()
  }

  onDrain(): void {
    if (this.#isClosed || this.#outgoing.isEmpty) return
    this.#flushInTurn()
    this.#advance()
  }

  onEnd(): void {
    this.#isInputEnded = true
    if (this.#isClosed) return
    if (this.#hasLeft) return void this.#end()
    // A client that reads a stream and sends nothing more has most likely gone.
    if (this.#isStreaming) this.#exchange?.abort()
    this.#advance()
  }

  onClose(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#release()
    this.#awaited?.forget(this.place.group.name, this.#takeTurn)
    this.#partPace.release()
    this.#connections.leave(this)
    this.#exchange?.abort()
    this.#onDrained?.()
  }

  expire(what: Expired): void {
    if (what === "arriving") {
      // The client was not too slow: its whole head is here, and waits for a turn.
      if (this.#reader.hasHead) return void this.#moveTo("busy")
      this.#connections.closedFor(what)
      this.#refuse(problemResponse(headTooSlow(this.#connections.limits.headMs)))
      return
    }
    if (what !== "leaving") this.#connections.closedFor(what)
    if (what === "idle") this.#end()
    else this.terminate()
  }

  makeRoom(): void {
    this.#connections.closedFor("room")
    if (this.place.phase === "busy") {
      this.terminate()
      return
    }
    if (this.place.phase === "arriving" || this.place.phase === "receiving") {
      this.#outgoing.addBytes(Buffer.from(lastAnswerText(problemResponse(madeRoom()))))
      this.#outgoing.flush()
    }
    this.#end()
  }

  drain(): void {
    const { phase } = this.place
    if (phase === "idle" || phase === "securing" || this.#hasLeft) this.#end()
    else if (this.#isStreaming) this.#exchange?.abort()
  }

  terminate(): void {
    if (this.#isClosed) return
    this.#wire.terminate()
    this.onClose()
  }

  #end(): void {
    if (this.#isClosed) return
    this.#wire.end()
    this.onClose()
  }

  /** Reads as far as possible, sends what there is to send, and waits for whatever comes next. */
  #advance(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    while (this.#canRead()) {
      const part = this.#reader.next()
      if (part === "more") {
        if (this.#isSmallPart) this.#partPace.spend()
        break
      }
      this.#take(part)
    }
    if (this.#isInputEnded) this.#exchange?.breakOff()
    this.#isAdvancing = false
    if (this.#isClosed) return
    // If the next request of the client is already here, their answers may go out together.
    if (this.#exchange === undefined) this.#flushInTurn()
    else if (!this.#outgoing.isEmpty) this.#flushSoon()
    if (!this.#isClosed) this.#settle()
  }

  #canRead(): boolean {
    if (this.#isClosed || this.#isLast) return false
    if (this.#exchange !== undefined) return this.#exchange.isReceiving
    if (this.#outgoing.takesNoMore || this.#awaited !== undefined) return false
    if (this.#reader.bufferedBytes === 0) return true
    const { turn, aheadTurn } = this.#connections
    const spent = turn.isSpent ? turn : this.#freshBytes === 0 && aheadTurn.isSpent ? aheadTurn : undefined
    if (spent !== undefined) this.#waitFor(spent)
    return spent === undefined
  }

  #waitFor(turn: TurnBudget): void {
    this.#awaited = turn
    turn.defer(this.place.group.name, this.#takeTurn)
  }

  readonly #takeTurn = (): void => {
    this.#awaited = undefined
    this.#flushInTurn()
    this.#advance()
  }

  /** What has arrived is a part of a head, or a small part of a body. */
  get #isSmallPart(): boolean {
    if (this.#exchange === undefined) return this.#reader.bufferedBytes > 0
    return this.#freshBytes > 0 && this.#freshBytes < smallBodyPartBytes
  }

  #take(part: Exclude<InputPart, "more">): void {
    if (part instanceof Uint8Array) return void this.#exchange?.chunk(part)
    this.#partPace.release()
    if (part instanceof BadRequest) this.#refuse(badRequestAnswer(part))
    else if (part === "end") this.#exchange?.end()
    else this.#begin(part)
  }

  #begin(head: Exclude<InputPart, string | Uint8Array | BadRequest>): void {
    if (this.#freshBytes === 0) this.#connections.aheadTurn.spend(1)
    this.#freshBytes = 0
    this.#connections.turn.spend(unitsPerRequest)
    const exchange = new Exchange({
      head,
      arrived: this.#reader.takeWhole(),
      remoteAddress: this.#remoteAddress,
      addressGroup: this.place.group.name,
      isSecure: this.#options.isSecure,
      onReceive: this.#onReceive,
    })
    this.#exchange = exchange
    let answer: Promise<HttpAnswer>
    try {
      answer = this.#options.handle(exchange)
    } catch (error) {
      answer = Promise.reject(error)
    }
    answer.then(
      (answered) => this.#answer(exchange, answered),
      (error: unknown) => {
        this.#options.onDefect(error)
        this.#answer(exchange, problemResponse(unexpected()))
      },
    )
  }

  readonly #onReceive = (): void => {
    const exchange = this.#exchange
    if (exchange?.head.expectsContinue === true && this.#reader.bufferedBytes === 0) {
      this.#outgoing.add("HTTP/1.1 100 Continue\r\n\r\n")
    }
    this.#advance()
  }

  #answer(exchange: Exchange, answer: HttpAnswer): void {
    if (this.#isClosed || this.#exchange !== exchange) return
    const { head } = exchange
    const { body } = answer
    if (!exchange.isComplete || !head.keepsAlive || this.#connections.isDraining) this.#isLast = true
    try {
      if (isStream(body) && head.method !== "HEAD") return void this.#stream(exchange, answer, body)
      const bodyBytes = isStream(body) ? "untilClose" : Buffer.byteLength(body)
      this.#outgoing.add(
        answerHead(answer, { bodyBytes, closes: this.#isLast, requestId: exchange.requestId }),
      )
      if (head.method !== "HEAD" && typeof body === "string") this.#outgoing.add(body, Number(bodyBytes))
      else if (head.method !== "HEAD" && body instanceof Uint8Array) this.#outgoing.addBytes(body)
    } catch (error) {
      this.#options.onDefect(error)
      this.terminate()
      return
    }
    this.#exchange = undefined
    // Small answers of one turn go out together. A large one goes first, so that the next waits until the client reads.
    if (this.#outgoing.takesNoMore) this.#flushInTurn()
    this.#advance()
  }

  /** A large answer waits for turns that have room. */
  #flushInTurn(): void {
    const { turn, largeAnswersTurn } = this.#connections
    const { needsTurn } = this.#outgoing
    const spent = needsTurn ? [turn, largeAnswersTurn].find(({ isSpent }) => isSpent) : undefined
    if (spent === undefined) this.#flush()
    else if (!this.#unread.noteWait(this.#outgoing)) this.#closeForBytes()
    else if (this.#awaited === undefined) this.#waitFor(spent)
  }

  get #isStreaming(): boolean {
    return this.#streamed !== undefined && this.#streamed === this.#exchange
  }

  /** Sends a stream as it comes. It takes the next part when the client has read enough. */
  async #stream(
    exchange: Exchange,
    answer: HttpAnswer,
    body: AsyncIterable<string | Uint8Array>,
  ): Promise<void> {
    const isChunked = !exchange.head.isHttp10
    this.#streamed = exchange
    try {
      const bodyBytes = isChunked ? "chunked" : "untilClose"
      this.#outgoing.add(
        answerHead(answer, { bodyBytes, closes: this.#isLast, requestId: exchange.requestId }),
      )
      this.#flushSoon()
      for await (const part of body) {
        if (this.#isClosed) return
        this.#outgoing.addOfStream(part, isChunked)
        if (this.#outgoing.takesNoMore) this.#flush()
        else this.#flushSoon()
        await this.#drained()
        if (this.#isClosed) return
      }
    } catch (error) {
      this.#options.onDefect(error)
      // The client must not take the part that it has for the whole.
      return this.terminate()
    }
    if (this.#isClosed) return
    if (isChunked) this.#outgoing.add("0\r\n\r\n")
    if (this.#connections.isDraining) this.#isLast = true
    this.#streamed = undefined
    this.#exchange = undefined
    this.#advance()
  }

  #flushSoon(): void {
    if (this.#isFlushQueued) return
    this.#isFlushQueued = true
    setImmediate(() => {
      this.#isFlushQueued = false
      if (!this.#isClosed) this.#flush()
    })
  }

  #drained(): Promise<void> | undefined {
    if (this.#outgoing.restBytes === 0 || this.#isClosed) return undefined
    return new Promise((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** Answers a request that no route gets, and closes. */
  #refuse(answer: HttpAnswer): void {
    const exchange = this.#exchange
    this.#exchange = undefined
    this.#isLast = true
    exchange?.abort()
    this.#outgoing.addBytes(Buffer.from(lastAnswerText(answer)))
    this.#advance()
  }

  #flush(): void {
    const { turn, largeAnswersTurn } = this.#connections
    const { waitingBytes, needsTurn } = this.#outgoing
    const sent = this.#outgoing.flush()
    const sentBytes = waitingBytes - this.#outgoing.waitingBytes
    turn.spend(sentBytes)
    if (needsTurn) largeAnswersTurn.spend(sentBytes)
    if (sent === "closed") return void this.terminate()
    if (!this.#unread.noteWrite(this.#outgoing)) return void this.#closeForBytes()
    if (this.#outgoing.restBytes > 0) return
    const onDrained = this.#onDrained
    this.#onDrained = undefined
    onDrained?.()
  }

  /** Leaves, ends, or waits: nothing more can be done until the next event. */
  #settle(): void {
    const isSent = this.#outgoing.isEmpty
    if (this.#isLast && this.#exchange === undefined) {
      if (isSent) this.#leave()
      else this.#moveTo("busy")
      return
    }
    const isWaiting = this.#exchange === undefined && isSent && this.#awaited === undefined
    if (isWaiting && this.#isInputEnded) {
      this.#end()
      return
    }
    if (isWaiting) this.#moveTo(this.#reader.bufferedBytes === 0 ? "idle" : "arriving")
    else if (this.#exchange?.isComplete === false) this.#moveTo("receiving")
    // The time of a head goes on while its next part waits for a turn.
    else if (this.#exchange !== undefined || this.place.phase !== "arriving") this.#moveTo("busy")
    this.#limitInput(this.#exchange?.isReceiving === true ? 0 : this.#reader.compact(), isWaiting)
  }

  #moveTo(phase: Phase): void {
    if (this.place.phase !== phase) this.#connections.move(this, phase)
  }

  /**
   * Counts the input that waits: for its turn, or for the rest of its head. While it waits for its turn, the wire is
   * paused, and also while the next part of its request waits. If the input of all connections is too much, it is dropped.
   */
  #limitInput(bytes: number, isHead: boolean): void {
    if ((this.#partPace.isHeld || (bytes > 0 && !isHead)) !== this.#isPaused) {
      this.#isPaused = !this.#isPaused
      if (this.#isPaused) this.#wire.pause()
      else this.#wire.resume()
    }
    const { ahead } = this.#connections
    this.#aheadBytes = ahead.change(this.place.group.name, this.#aheadBytes, bytes)
    if (this.#aheadBytes === bytes) return
    this.#connections.closedFor("bytes")
    if (isHead) {
      this.#refuse(problemResponse(tooManyBytes()))
      return
    }
    // The answer of the current request says that the connection closes. So the client knows that the rest was not read.
    this.#reader.clear()
    this.#isLast = true
    this.#isPaused = false
    this.#wire.resume()
  }

  #leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#release()
    if (this.#isInputEnded) {
      this.#end()
      return
    }
    this.#moveTo("leaving")
    if (this.#isPaused) this.#wire.resume()
    this.#isPaused = false
    this.#wire.shutdown()
  }

  #closeForBytes(): void {
    this.#connections.closedFor("bytes")
    this.terminate()
  }

  #drop(bytes: number): void {
    if (!this.#connections.mayDrop(this, bytes)) this.terminate()
  }

  #release(): void {
    this.#connections.ahead.giveBack(this.place.group.name, this.#aheadBytes)
    this.#unread.release()
    this.#aheadBytes = 0
    this.#reader.clear()
  }
}
