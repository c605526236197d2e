// Calls a service through the client library, as the programs of users do.
import { Punctual, PunctualError } from "@punctual/client"

export interface CallAnswer {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly json: any
}

export type SendCall = (
  path: string,
  body: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<CallAnswer>

/** Enough for a loaded machine. */
const answerWithinMs = 120_000

/** `url` is a function, because a service may listen elsewhere after a restart. A refusal is an answer, too. */
export const callsOf =
  (url: () => string, apiKey?: string): SendCall =>
  async (path, body, headers) => {
    const punctual = new Punctual({
      url: url(),
      key: apiKey ?? null,
      maxRetries: 0,
      timeoutMs: answerWithinMs,
    })
    try {
      const { value, text } = await punctual.exchange(path.replace("/", "."), body, { headers })
      return { status: 200, text, json: value }
    } catch (error) {
      if (error instanceof PunctualError && error.status !== undefined) {
        return { status: error.status, text: error.message, json: error.problem }
      }
      throw error
    }
  }

/** As `callsOf`, for calls that must succeed. */
export const goodCallsOf = (url: () => string, apiKey?: string): SendCall => {
  const send = callsOf(url, apiKey)
  return async (path, body, headers) => {
    const answer = await send(path, body, headers)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.json)}`)
    return answer
  }
}
