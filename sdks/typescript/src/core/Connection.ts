/**
 * Sends calls: with the key, with a time limit for each try, and again if that is harmless (repeats.ts). It also
 * compares the clock of the service with the local one, because the client turns delays into instants.
 */
import { PunctualError } from "../errors.ts"
import { badAnswer, mayRepeat, wasAborted, withWritten } from "./failures.ts"
import type { CallOptions, ConnectionSettings, TransportRequest } from "./options.ts"
import { type RepeatClass, waitMsBefore } from "./repeats.ts"
import { TryLimit } from "./TryLimit.ts"

/** One call, ready to send. */
export interface Outgoing {
  /** The id of the operation in the OpenAPI document, for hooks. */
  readonly operation: string
  /** Below /api/v1. */
  readonly path: string
  readonly body: string
  readonly repeats: RepeatClass
}

/** A successful answer. */
export interface AnswerText {
  readonly text: string
  readonly status: number
  readonly requestId: string | undefined
}

/** Enough for a page of timers with the largest payloads. */
const answerBytesMax = 128 * 1024 * 1024
/** The header `date` has whole seconds, and answers take a while. */
const clockToleranceMs = 2_000

/** The way to one service. */
export class Connection {
  readonly #settings: ConnectionSettings
  #serverAheadMs = 0

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  /** The time of the service, as far as its answers have shown it. */
  nowMs(): number {
    return this.#settings.clock.nowMs() + this.#serverAheadMs
  }

  /** The answer, or an error after the last try. */
  async send(outgoing: Outgoing, options: CallOptions = {}): Promise<AnswerText> {
    const { clock, maxRetries: usualRetries, logger } = this.#settings
    const maxRetries = options.maxRetries ?? usualRetries
    let isUnknown = false
    for (let attempt = 1; ; attempt++) {
      let error: PunctualError
      try {
        return await this.#try(outgoing, attempt, options)
      } catch (caught) {
        // Such as the caller's own function that reads the key.
        if (!(caught instanceof PunctualError)) throw caught
        error = caught
      }
      isUnknown ||= error.written === "unknown" && outgoing.repeats !== "read"
      const final = withWritten(error, isUnknown ? "unknown" : "no")
      const waitMs = waitMsBefore(attempt, error.retryAfterMs, clock.random())
      const isLast = attempt > maxRetries || !mayRepeat(error, outgoing.repeats) || waitMs === undefined
      if (isLast || isPast(options.deadline, clock.nowMs() + waitMs)) throw final
      logger?.debug(`punctual: ${outgoing.operation} is tried again in ${waitMs} ms`, { code: error.code })
      await clock.sleep(waitMs, options.signal)
      if (options.signal?.aborted === true)
        throw withWritten(wasAborted(options.signal.reason), final.written)
    }
  }

  /** Begins to read an answer that does not end. The caller must cancel the body, or end it by the signal. */
  async open(
    path: string,
    headers: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<Response> {
    const { url } = this.#settings
    const all = { ...(await this.#headers()), ...headers }
    const limit = this.#limitOf(options)
    try {
      const response = await this.#request(path, { method: "GET", headers: all }, limit)
      // From now on only the caller ends the stream.
      limit.stopClock()
      if (response.status === 200) return response
      throw badAnswer({
        status: response.status,
        headers: response.headers,
        text: await boundedText(response),
        place: url,
      })
    } catch (error) {
      throw withWritten(limit.failureOf(error), "no")
    }
  }

  async #try(outgoing: Outgoing, attempt: number, options: CallOptions): Promise<AnswerText> {
    const { hooks, clock } = this.#settings
    const { operation } = outgoing
    const startedMs = clock.nowMs()
    this.#tell(() => hooks?.onRequest?.({ operation, attempt }))
    const durationMs = () => clock.nowMs() - startedMs
    try {
      const { status, headers, text } = await this.#exchange(outgoing, options)
      this.#compareClocks(headers, startedMs, clock.nowMs())
      if (status !== 200) throw badAnswer({ status, headers, text, place: this.#settings.url })
      const requestId = headers.get("x-request-id") ?? undefined
      this.#tell(() => hooks?.onAnswer?.({ operation, attempt, status, requestId, durationMs: durationMs() }))
      return { text, status, requestId }
    } catch (caught) {
      if (caught instanceof PunctualError) {
        const error = caught
        this.#tell(() => hooks?.onFailure?.({ operation, attempt, error, durationMs: durationMs() }))
      }
      throw caught
    }
  }

  /** One request and its complete answer, within the time limit. */
  async #exchange({ path, body }: Outgoing, options: CallOptions) {
    const headers = { ...(await this.#headers()), "content-type": "application/json", ...options.headers }
    const limit = this.#limitOf(options)
    try {
      const response = await this.#request(path, { method: "POST", headers, body }, limit)
      return { status: response.status, headers: response.headers, text: await boundedText(response) }
    } catch (error) {
      throw limit.failureOf(error)
    } finally {
      limit.end()
    }
  }

  #request(
    path: string,
    request: Pick<TransportRequest, "method" | "headers" | "body">,
    limit: TryLimit,
  ): Promise<Response> {
    const { url, transport } = this.#settings
    // A redirect could lead to another origin, which must not get the key.
    return transport(`${url}/api/v1/${path}`, { ...request, redirect: "manual", signal: limit.signal })
  }

  #limitOf({ signal, deadline, timeoutMs = this.#settings.timeoutMs }: CallOptions): TryLimit {
    const leftMs = deadline === undefined ? timeoutMs : deadline.getTime() - this.#settings.clock.nowMs()
    return new TryLimit(signal, Math.min(timeoutMs, leftMs), this.#settings.url)
  }

  async #headers(): Promise<Record<string, string>> {
    const { key, headers } = this.#settings
    const text = typeof key === "function" ? await key() : key
    return { ...headers, ...(text === undefined ? {} : { authorization: `Bearer ${text}` }) }
  }

  #compareClocks(headers: Headers, startedMs: number, endedMs: number): void {
    const date = Date.parse(headers.get("date") ?? "")
    if (Number.isNaN(date)) return
    // The header is the second in which the service answered, so on average it is half a second old.
    const aheadMs = Math.round(date + 500 - (startedMs + endedMs) / 2)
    const corrected = Math.abs(aheadMs) > clockToleranceMs + (endedMs - startedMs) / 2 ? aheadMs : 0
    if ((corrected === 0) !== (this.#serverAheadMs === 0)) {
      const seconds = Math.round(aheadMs / 1000)
      const text =
        corrected === 0
          ? "punctual: the local clock and the clock of the service agree again"
          : `punctual: the clock of the service is ${seconds} s ahead of the local clock. Delays are corrected from now on.`
      this.#settings.logger?.warn(text)
    }
    this.#serverAheadMs = corrected
  }

  /** A hook must not change the outcome of a call. */
  #tell(hook: () => void): void {
    try {
      hook()
    } catch (error) {
      this.#settings.logger?.warn(`punctual: a hook failed: ${error}`)
    }
  }
}

const isPast = (deadline: Date | undefined, atMs: number): boolean =>
  deadline !== undefined && atMs >= deadline.getTime()

const boundedText = async (response: Response): Promise<string> => {
  const reader = response.body?.getReader()
  if (reader === undefined) return ""
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > answerBytesMax) {
      await reader.cancel()
      throw new Error(`the answer has more than ${answerBytesMax} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}
