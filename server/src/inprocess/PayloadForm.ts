// In which form a program gives and gets payloads. A value goes through JSON, as in any program. A text is JSON that
// stays as it was written, byte for byte: large numbers keep their digits, and keys and spaces stay where they are.
import type { Parsed } from "../ports/Adapter.ts"

export interface PayloadForm {
  /** The bytes to keep; none if there is no payload. Throws an Error that says why the payload cannot be kept. */
  bytesOf(payload: unknown): Uint8Array | undefined
  ofBytes(bytes: Uint8Array): unknown
}

const value: PayloadForm = {
  bytesOf: (payload) => {
    // What JSON has no word for, such as a function, is no payload.
    const text: string | undefined = JSON.stringify(payload)
    return text === undefined ? undefined : encoder.encode(text)
  },
  ofBytes: (bytes) => JSON.parse(decoder.decode(bytes)),
}

const text: PayloadForm = {
  bytesOf: (payload) => {
    if (payload === undefined) return undefined
    if (typeof payload !== "string" || !payload.isWellFormed()) throw new Error(mustBeText)
    try {
      JSON.parse(payload)
    } catch (error) {
      throw new Error(`${mustBeText}: ${error instanceof Error ? error.message : error}`)
    }
    return encoder.encode(payload)
  },
  ofBytes: (bytes) => decoder.decode(bytes),
}

const mustBeText = "must be JSON text, because this Punctual was opened with payloads: text"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export const parsePayloadForm = (name: string): Parsed<PayloadForm> => {
  if (name === "value") return { value }
  return name === "text" ? { value: text } : { problem: "must be value or text" }
}
