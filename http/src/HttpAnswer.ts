// The answer of a route. The listener adds the length, the date and what concerns the connection.

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: HttpAnswerBody
}

/**
 * A stream is sent as it comes, and waits while the client does not read. When the request's signal aborts, the stream
 * must end.
 */
export type HttpAnswerBody = string | Uint8Array | AsyncIterable<string | Uint8Array>

/**
 * For answers that are data: no cache keeps them, and a browser does not take them for something else, such as a
 * script.
 */
export const dataHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

const jsonHeaders = { "content-type": "application/json", ...dataHeaders }

/** `json` is JSON, as text or as UTF-8. */
export const jsonAnswer = (json: string | Uint8Array, status = 200): HttpAnswer => ({
  status,
  headers: jsonHeaders,
  body: json,
})

export const isStream = (body: HttpAnswerBody): body is AsyncIterable<string | Uint8Array> =>
  typeof body !== "string" && !(body instanceof Uint8Array)
