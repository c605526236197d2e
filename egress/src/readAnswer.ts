// Reads the part of an answer that matters. For a success status with JSON it reads a limited beginning of the body.
// For a failure status it reads the first bytes, for people to see. Other bodies are cancelled unread. If a cancelled
// body has already arrived, the connection stays open for the next request. Otherwise the connection is closed.

export interface AnswerBody {
  readonly text: string
  /** The body was longer than the read limit. */
  readonly isCut: boolean
}

/** Whether the meaning of the answer may depend on its body. */
export const isJsonSuccess = ({
  ok,
  headers,
}: {
  readonly ok: boolean
  readonly headers: { get(name: string): string | null }
}): boolean => {
  const contentType = ok ? headers.get("content-type") : null
  return contentType !== null && jsonType.test(contentType)
}

const jsonType = /^\s*application\/(?:json|[^\s;]+\+json)\s*(?:;|$)/i

/** Cancels an unread body, and ignores errors. */
export const discard = ({ body }: Response): void => {
  body?.cancel().catch(ignore)
}

const ignore = (): void => {}

/** At most `maxBytes` of the body; `undefined` if they are not UTF-8 and therefore not JSON. */
export const readJson = async (response: Response, maxBytes: number): Promise<AnswerBody | undefined> => {
  const { body, headers } = response
  if (body === null) return undefined
  const lengthText = headers.get("content-length")
  if (lengthText !== null && !headers.has("transfer-encoding") && Number(lengthText) <= maxBytes) {
    return jsonTextOf(await response.bytes(), false)
  }
  return await readBeginning(body, maxBytes)
}

/**
 * The beginning of a body that only people read: at most `maxBytes`, and only what arrives within `withinMs`. Never
 * rejects, because the body does not decide the meaning. Invalid UTF-8 is replaced. A compressed answer is not kept.
 */
export const readText = async (
  { body, headers }: Response,
  maxBytes: number,
  withinMs: number,
): Promise<AnswerBody | undefined> => {
  if (body === null) return undefined
  if (isCompressed(headers)) {
    body.cancel().catch(ignore)
    return undefined
  }
  const beginning = new Uint8Array(maxBytes)
  const reader = body.getReader()
  // A cancelled reader reports the end of the body.
  const timer = setTimeout(() => reader.cancel().catch(ignore), withinMs)
  let length = 0
  try {
    while (length < maxBytes) {
      const { done, value } = await reader.read()
      if (done) break
      const fits = value.subarray(0, maxBytes - length)
      beginning.set(fits, length)
      length += fits.length
    }
  } catch {
    // The bytes that have arrived are kept.
  } finally {
    clearTimeout(timer)
  }
  const isCut = length === maxBytes
  if (isCut) reader.cancel().catch(ignore)
  return textOf(beginning.subarray(0, length), isCut)
}

/** The text of a body that only people read. Invalid UTF-8 is replaced. */
export const textOf = (bytes: Uint8Array, isCut: boolean): AnswerBody | undefined => {
  // A cut may go through a character; a decoder that expects more leaves the broken end out.
  const text = new TextDecoder().decode(bytes, { stream: isCut })
  return text === "" ? undefined : { text, isCut }
}

/** Whether the bytes of the body are not its text. */
export const isCompressed = (headers: { get(name: string): string | null }): boolean => {
  const encoding = headers.get("content-encoding")
  return encoding !== null && encoding.toLowerCase() !== "identity"
}

const readBeginning = async (
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<AnswerBody | undefined> => {
  const beginning = new Uint8Array(maxBytes)
  let length = 0
  const reader = body.getReader()
  while (true) {
    const { done, value } = await reader.read()
    if (done) return jsonTextOf(beginning.subarray(0, length), false)
    const fits = value.subarray(0, maxBytes - length)
    beginning.set(fits, length)
    length += fits.length
    if (fits.length < value.length) {
      reader.cancel().catch(ignore)
      return jsonTextOf(beginning, true)
    }
  }
}

/** The text of JSON; `undefined` if the bytes are not UTF-8 and therefore not JSON. */
export const jsonTextOf = (bytes: Uint8Array, isCut: boolean): AnswerBody | undefined => {
  try {
    // A cut may go through a character; a decoder that expects more leaves the broken end out.
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut }), isCut }
  } catch {
    return undefined
  }
}
