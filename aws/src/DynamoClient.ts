// Calls DynamoDB: signed JSON over HTTP, on kept connections of the runtime. A call has one time limit, which includes
// its repeats. A call is repeated if nothing was done (load, a conflict of transactions), or if its result is unknown and
// a repeat is harmless: a read, or a write that DynamoDB recognises by its token.

import { type AwsCredentials, type CredentialSource, NoCredentials } from "./AwsCredentials.ts"
import { DynamoFailure, failureOf } from "./DynamoFailure.ts"
import { RequestPlaces } from "./RequestPlaces.ts"
import { signedHeaders } from "./signedHeaders.ts"

export interface DynamoClientOptions {
  readonly region: string
  /** Such as `https://dynamodb.eu-central-1.amazonaws.com`. */
  readonly endpoint: string
  readonly credentials: CredentialSource
  /** How many requests may run at once. */
  readonly requestsAtOnce: number
  readonly nowMs: () => number
}

export interface DynamoCallTerms {
  /** A page or a batch of items, or work on a table: it may take longer than calls on which leases depend. Repeatable. */
  readonly isLong?: boolean
  /** It is harmless if the call is done twice. */
  readonly isRepeatable?: boolean
}

/**
 * The limits for a call with its repeats, and for one request of it. A connection that was cut without notice must not use
 * up the time of the call. Leases last 5 s.
 */
const limits = { callMs: 4_000, requestMs: 2_500 } as const
const limitsOfLong = { callMs: 12_000, requestMs: 5_000 } as const
const firstPauseMs = 15
const longestPauseMs = 400
const mostAnswerBytes = 64 << 20

export class DynamoClient {
  readonly #options: DynamoClientOptions
  readonly #host: string
  readonly #url: string
  readonly #places: RequestPlaces

  constructor(options: DynamoClientOptions) {
    this.#options = options
    const { host, origin } = new URL(options.endpoint)
    this.#host = host
    this.#url = `${origin}/`
    this.#places = new RequestPlaces(options.requestsAtOnce)
  }

  /** The caller knows the shape of the answer. */
  async call<Answer>(operation: string, body: object, terms: DynamoCallTerms = {}): Promise<Answer> {
    const { isLong = false, isRepeatable = isLong } = terms
    const { callMs, requestMs } = isLong ? limitsOfLong : limits
    const text = JSON.stringify(body)
    const endsAt = performance.now() + callMs
    let pauseMs = firstPauseMs
    for (;;) {
      try {
        return (await this.#once(operation, text, requestMs, endsAt)) as Answer
      } catch (error) {
        if (!(error instanceof DynamoFailure)) throw error
        if (!error.isMomentary && !(error.isUnknown && isRepeatable)) throw error
        const wait = pauseMs * (0.5 + Math.random())
        if (performance.now() + wait >= endsAt) throw error
        await new Promise((resolve) => setTimeout(resolve, wait))
        pauseMs = Math.min(longestPauseMs, pauseMs * 2)
      }
    }
  }

  async #once(operation: string, body: string, requestMs: number, endsAt: number): Promise<unknown> {
    const credentials = await this.#credentials()
    const release = await this.#places.enter(endsAt - performance.now())
    try {
      const timeoutMs = Math.max(1, Math.min(requestMs, endsAt - performance.now()))
      return await this.#send(operation, body, credentials, timeoutMs)
    } finally {
      release()
    }
  }

  async #credentials(): Promise<AwsCredentials> {
    try {
      return await this.#options.credentials.current()
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new DynamoFailure(error instanceof NoCredentials ? "noCredentials" : "unreachable", message)
    }
  }

  async #send(operation: string, body: string, credentials: AwsCredentials, timeoutMs: number) {
    const { region, nowMs } = this.#options
    const headers = {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDB_20120810.${operation}`,
    }
    const request = { method: "POST", host: this.#host, path: "/", headers, body } as const
    const signed = signedHeaders(request, { region, service: "dynamodb" }, credentials, nowMs())
    const signal = AbortSignal.timeout(timeoutMs)
    let status: number
    let text: string
    try {
      const answer = await fetch(this.#url, {
        method: "POST",
        headers: signed,
        body,
        signal,
        redirect: "error",
      })
      status = answer.status
      text = await answer.text()
    } catch (error) {
      const reason = reasonOf(error)
      // Nothing was sent.
      if (certificateReason.test(reason))
        throw new DynamoFailure("untrusted", `The certificate of ${this.#url} cannot be trusted (${reason}).`)
      throw new DynamoFailure("unreachable", `DynamoDB does not answer at ${this.#url} (${reason}).`)
    }
    if (text.length > mostAnswerBytes) throw new DynamoFailure("unreadable", "the answer is too long")
    if (status === 200) return parsed(text)
    throw failureOf(status, text)
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new DynamoFailure("unreachable", "DynamoDB sent an answer that is not JSON.")
  }
}

/** The runtime's codes of certificates that it does not accept. */
const certificateReason = /CERT|SIGNATURE|ALTNAME|^ERR_(?:TLS|SSL)|_CRL|ISSUER/

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "failed"
  return error.name === "TimeoutError" ? "time limit" : "code" in error ? String(error.code) : error.name
}
