// Calls a service that runs as a process of its own, next to the browser, through the client library.
import { Punctual, PunctualError } from "@punctual/client"

export interface CallAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly json: any
}

export type SendCall = (path: string, body: object) => Promise<CallAnswer>

/** Enough for a loaded machine. */
const answerWithinMs = 120_000

/** `url` is a function, because a service may listen elsewhere after a restart. */
export const callsOf =
  (url: () => string, apiKey?: string): SendCall =>
  async (path, body) => {
    const punctual = new Punctual({
      url: url(),
      key: apiKey ?? null,
      maxRetries: 0,
      timeoutMs: answerWithinMs,
    })
    try {
      const { value } = await punctual.exchange(path.replace("/", "."), body)
      return { status: 200, json: value }
    } catch (error) {
      if (error instanceof PunctualError && error.status !== undefined) {
        return { status: error.status, json: error.problem }
      }
      throw error
    }
  }

/** As `callsOf`, for calls that must succeed. */
export const goodCallsOf = (url: () => string, apiKey?: string): SendCall => {
  const send = callsOf(url, apiKey)
  return async (path, body) => {
    const answer = await send(path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.json)}`)
    return answer
  }
}
