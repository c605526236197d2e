// Calls a service that runs as a process of its own, next to the browser.

export interface CallAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer can be any JSON, and each test says what it expects.
  readonly json: any
}

export type SendCall = (path: string, body: object) => Promise<CallAnswer>

/** `url` is a function, because a service may listen elsewhere after a restart. */
export const callsOf =
  (url: () => string, apiKey?: string): SendCall =>
  async (path, body) => {
    const response = await fetch(`${url()}/api/v1/${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, json: await response.json() }
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
