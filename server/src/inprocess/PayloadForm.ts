// The form in which a program gives and gets payloads. A value is converted to JSON and back. A text is JSON that stays
// the same byte for byte: large numbers keep their digits, and keys and spaces do not change.
import type { Parsed } from "../ports/Adapter.ts"

export interface PayloadForm {
  /** The bytes to store; `undefined` if there is no payload. Throws an Error if the payload cannot be stored. */
  bytesOf(payload: unknown): Uint8Array | undefined
  ofBytes(bytes: Uint8Array): unknown
}

const value: PayloadForm = {
  bytesOf: (payload) => {
    // A value that JSON cannot express, such as a function, counts as no payload.
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
