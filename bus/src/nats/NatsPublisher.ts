// Publishes messages with many in flight at once: a call sends all its messages before it waits for the first answer,
// and all calls share the connection. The answers come to an inbox of our own instead of through the client's requests.
// A client request costs a timer and several promises, and waits for its full timeout when the connection is lost.
// Here, a lost connection fails every call in flight at once; its messages may or may not have arrived. A call that
// comes while there is no connection waits for one, within the same time limit, and is sent once. The publisher never
// resends by itself.
//
// One timer of the runtime handles all timeouts instead of Effect's clock. The broker's time is real time, and a fibre
// or timer for each call would cost as much as sending it.

import { Effect, type Scope } from "effect"
import { createInbox, type Msg, type MsgHdrs } from "../../../drivers/nats/nats.ts"
import { PublishError } from "../Bus.ts"
import { apiCodes, failureText } from "./BrokerFailure.ts"
import type { Connection } from "./Connection.ts"

export interface Outgoing {
  readonly subject: string
  readonly headers: MsgHdrs
  readonly bytes: Uint8Array
}

export interface Stored {
  readonly isDuplicate: boolean
}

/** How many messages a call sends before it waits for the first answer. A longer call is sent in parts. */
const outstandingPerCall = 1_000
/** The limit over all calls. Beyond it, calls fail with an error that is not permanent. */
const outstandingInAll = 50_000
/** Our headers are never larger than this. Only a message near the limit is measured exactly. */
const headerBytesGuess = 4_096

interface Call {
  readonly outgoing: ReadonlyArray<Outgoing>
  readonly answers: Array<Stored>
  readonly resume: (effect: Effect.Effect<ReadonlyArray<Stored>, PublishError>) => void
  /** The token of the first message; the others follow. `undefined` while the call waits for the connection. */
  firstToken: number | undefined
  answered: number
  isOver: boolean
  readonly failsAtMs: number
}

export class NatsPublisher {
  readonly #connection: Connection
  readonly #timeoutMs: number
  readonly #inbox: string
  readonly #sent = new Map<number, Call>()
  readonly #waiting = new Set<Call>()
  /** All open calls, oldest first. Each has the same time limit, so the first one expires first. */
  readonly #calls = new Set<Call>()
  /** Runs when the oldest call expires. If that call has ended meanwhile, it is set again for the next one. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #lastToken = 0
  #outstanding = 0

  private constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
    this.#inbox = `${createInbox()}.`
  }

  static make(connection: Connection, timeoutMs: number): Effect.Effect<NatsPublisher, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        const publisher = new NatsPublisher(connection, timeoutMs)
        const answers = connection.client.subscribe(`${publisher.#inbox}*`, {
          callback: (error, answer) => {
            if (error === null) publisher.#receive(answer)
          },
        })
        const forget = connection.listen({
          onLost: () => publisher.#failSent("the connection was lost before the broker answered"),
          onRegained: () => publisher.#sendWaiting(),
          onForbidden: (subject, message) => publisher.#failSubject(subject, message),
        })
        return { publisher, answers, forget }
      }),
      ({ publisher, answers, forget }) =>
        Effect.sync(() => {
          forget()
          answers.unsubscribe()
          clearTimeout(publisher.#timer)
          publisher.#timer = undefined
          for (const call of [...publisher.#calls]) publisher.#fail(call, "the bus is closed")
        }),
    ).pipe(Effect.map(({ publisher }) => publisher))
  }

  /** Publishes in the order given, and returns one answer for each message. */
  publish(outgoing: ReadonlyArray<Outgoing>): Effect.Effect<ReadonlyArray<Stored>, PublishError> {
    return outgoing.length <= outstandingPerCall ? this.#publishPart(outgoing) : this.#publishParts(outgoing)
  }

  #publishParts(outgoing: ReadonlyArray<Outgoing>): Effect.Effect<ReadonlyArray<Stored>, PublishError> {
    const self = this
    return Effect.gen(function* () {
      const answers: Array<Stored> = []
      for (let from = 0; from < outgoing.length; from += outstandingPerCall) {
        const part = outgoing.slice(from, from + outstandingPerCall)
        for (const answer of yield* self.#publishPart(part)) answers.push(answer)
      }
      return answers
    })
  }

  #publishPart(outgoing: ReadonlyArray<Outgoing>): Effect.Effect<ReadonlyArray<Stored>, PublishError> {
    if (outgoing.length === 0) return Effect.succeed([])
    return Effect.callback((resume) => {
      const refusal = this.#refusal(outgoing)
      if (refusal !== undefined) {
        resume(Effect.fail(refusal))
        return undefined
      }
      const call: Call = {
        outgoing,
        answers: new Array<Stored>(outgoing.length),
        resume,
        firstToken: undefined,
        answered: 0,
        isOver: false,
        failsAtMs: performance.now() + this.#timeoutMs,
      }
      this.#outstanding += outgoing.length
      this.#calls.add(call)
      this.#timer ??= setTimeout(() => this.#failLate(), this.#timeoutMs)
      if (this.#connection.isConnected && this.#waiting.size === 0) this.#send(call)
      else this.#waiting.add(call)
      return Effect.sync(() => this.#forget(call))
    })
  }

  #refusal(outgoing: ReadonlyArray<Outgoing>): PublishError | undefined {
    if (this.#outstanding + outgoing.length > outstandingInAll) {
      return failed(`${this.#outstanding} messages already wait for the broker's answer`)
    }
    const mostBytes = this.#connection.maxPayloadBytes
    const large = outgoing.find((message) => isLargerThan(mostBytes, message))
    if (large === undefined) return undefined
    return new PublishError({
      message: `A message to ${large.subject} is ${large.bytes.length} bytes, more than the broker accepts (max_payload ${mostBytes}).`,
      isPermanent: true,
    })
  }

  /** Sends in the order in which the calls came. */
  #sendWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) this.#send(call)
  }

  #send(call: Call): void {
    call.firstToken = this.#lastToken + 1
    this.#lastToken += call.outgoing.length
    let token = call.firstToken
    try {
      for (const { subject, headers, bytes } of call.outgoing) {
        this.#sent.set(token, call)
        this.#connection.client.publish(subject, bytes, { headers, reply: `${this.#inbox}${token}` })
        token++
      }
    } catch (error) {
      this.#fail(call, failureText(error))
    }
  }

  /** Never throws, because that would end the client's read loop. */
  #receive(answer: Msg): void {
    const token = Number(answer.subject.slice(this.#inbox.length))
    const call = this.#sent.get(token)
    if (call?.firstToken === undefined) return
    const stored = storedIn(answer)
    if (stored instanceof PublishError) {
      this.#end(call, Effect.fail(stored))
      return
    }
    this.#sent.delete(token)
    call.answers[token - call.firstToken] = stored
    call.answered++
    if (call.answered === call.outgoing.length) this.#end(call, Effect.succeed(call.answers))
  }

  #failSubject(subject: string, message: string): void {
    for (const call of new Set(this.#sent.values())) {
      if (call.outgoing.some((outgoing) => outgoing.subject === subject)) this.#fail(call, message)
    }
  }

  /** Calls that wait for the connection keep waiting. */
  #failSent(message: string): void {
    for (const call of new Set(this.#sent.values())) this.#fail(call, message)
  }

  #failLate(): void {
    this.#timer = undefined
    const nowMs = performance.now()
    const late: Array<Call> = []
    for (const call of this.#calls) {
      if (call.failsAtMs > nowMs) {
        this.#timer = setTimeout(() => this.#failLate(), call.failsAtMs - nowMs)
        break
      }
      late.push(call)
    }
    for (const call of late) this.#fail(call, `no answer within ${this.#timeoutMs} ms`)
  }

  #fail(call: Call, message: string): void {
    this.#end(call, Effect.fail(failed(message)))
  }

  #end(call: Call, effect: Effect.Effect<ReadonlyArray<Stored>, PublishError>): void {
    this.#forget(call)
    call.resume(effect)
  }

  #forget(call: Call): void {
    if (call.isOver) return
    call.isOver = true
    this.#calls.delete(call)
    this.#outstanding -= call.outgoing.length
    this.#waiting.delete(call)
    if (call.firstToken === undefined || call.answered === call.outgoing.length) return
    for (let index = 0; index < call.outgoing.length; index++) this.#sent.delete(call.firstToken + index)
  }
}

export const weightBytes = ({ headers, bytes }: Outgoing): number =>
  Buffer.byteLength(headers.toString()) + bytes.length

const isLargerThan = (mostBytes: number, message: Outgoing): boolean =>
  message.bytes.length + headerBytesGuess > mostBytes && weightBytes(message) > mostBytes

const failed = (message: string): PublishError =>
  new PublishError({ message: `NATS did not accept a message: ${message}.`, isPermanent: false })

/** Reads the broker's answer to one message. */
const storedIn = (answer: Msg): Stored | PublishError => {
  if (answer.data.length === 0) {
    return failed(answer.headers?.code === 503 ? "no stream holds its subject" : "its answer is empty")
  }
  try {
    const { duplicate, error } = JSON.parse(decoder.decode(answer.data))
    if (error === undefined) return { isDuplicate: duplicate === true }
    return new PublishError({
      message: `NATS did not accept a message: ${error.description} (${error.err_code}).`,
      isPermanent: error.err_code === apiCodes.messageTooLarge,
    })
  } catch {
    return failed("its answer cannot be parsed")
  }
}

const decoder = new TextDecoder()
