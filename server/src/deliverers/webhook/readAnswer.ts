// Reads of an answer what its meaning may depend on, and no more: a bounded beginning of a body that is JSON under a status
// that is a success. Of an answer that is a failure the first bytes are read, for people to see. Everything else is cancelled
// unread. A cancelled body that has already arrived leaves the connection for the next request; one that has not is cut off
// with it.
import type { AnswerBody } from "./interpretAnswer.ts"

/** Whether the meaning of the answer may depend on its body. */
export const isJsonSuccess = ({ ok, headers }: Response): boolean => {
  const contentType = ok ? headers.get("content-type") : null
  return contentType !== null && jsonType.test(contentType)
}

const jsonType = /^\s*application\/(?:json|[^\s;]+\+json)\s*(?:;|$)/i

/** Cancels a body that is not read; how it would have ended makes no difference. */
export const discard = ({ body }: Response): void => {
  body?.cancel().catch(ignore)
}

const ignore = (): void => {}

/** At most `maxBytes` of the body; nothing if they are no UTF-8 and so no JSON either. */
export const readJson = async (response: Response, maxBytes: number): Promise<AnswerBody | undefined> => {
  const { body, headers } = response
  if (body === null) return undefined
  const lengthText = headers.get("content-length")
  if (lengthText !== null && !headers.has("transfer-encoding") && Number(lengthText) <= maxBytes) {
    return decode(await response.bytes(), false)
  }
  return await readBeginning(body, maxBytes)
}

/**
 * How the body of a failure begins: at most `maxBytes`, and what has arrived within `withinMs`. Never rejects, because the
 * status has said what the answer means. Bytes that are no UTF-8 are replaced; an answer that came compressed is not kept.
 */
export const readFailure = async (
  { body, headers }: Response,
  maxBytes: number,
  withinMs: number,
): Promise<AnswerBody | undefined> => {
  if (body === null) return undefined
  const encoding = headers.get("content-encoding")
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    body.cancel().catch(ignore)
    return undefined
  }
  const beginning = new Uint8Array(maxBytes)
  const reader = body.getReader()
  // A reader that is cancelled has come to its end.
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
    // What has arrived is kept.
  } finally {
    clearTimeout(timer)
  }
  const isCut = length === maxBytes
  if (isCut) reader.cancel().catch(ignore)
  // A cut may go through a character; a decoder that expects more leaves the broken end out.
  const text = new TextDecoder().decode(beginning.subarray(0, length), { stream: isCut })
  return text === "" ? undefined : { text, isCut }
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
    if (done) return decode(beginning.subarray(0, length), false)
    const fits = value.subarray(0, maxBytes - length)
    beginning.set(fits, length)
    length += fits.length
    if (fits.length < value.length) {
      reader.cancel().catch(ignore)
      return decode(beginning, true)
    }
  }
}

const decode = (bytes: Uint8Array, isCut: boolean): AnswerBody | undefined => {
  try {
    // A cut may go through a character; a decoder that expects more leaves the broken end out.
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut }), isCut }
  } catch {
    return undefined
  }
}
