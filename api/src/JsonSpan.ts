// Finds the place of a value in a JSON text. The service promises to deliver payloads exactly as they were sent.
// Parsing a payload and writing it again would break that: numbers lose digits, duplicate keys disappear, white space
// changes. So the service parses the text for its other fields, and cuts the payload out of the text here.
//
// Every function expects a text that `JSON.parse` has accepted, and finds the same values: the last of duplicate keys
// counts, and an escaped key equals its plain form. The scan is one pass without recursion, so deep nesting uses no
// stack. In an incomplete text the functions also find a member whose value is cut off.

/** A half-open range of a text, in UTF-16 code units, as `slice` takes it. */
export interface JsonSpan {
  readonly start: number
  readonly end: number
}

/** The value of the member `name` of the object in the text; `undefined` if there is no such member. */
export const memberSpan = (text: string, name: string): JsonSpan | undefined =>
  memberSpanAt(text, skipSpace(text, 0), name)

/**
 * For each element of the array member `arrayName`, in order: the value of its member `name`, or `undefined` if the
 * element is not an object or has no such member. Empty if there is no such array.
 */
export const elementSpans = (
  text: string,
  arrayName: string,
  name: string,
): ReadonlyArray<JsonSpan | undefined> => {
  const spans: Array<JsonSpan | undefined> = []
  const array = memberSpan(text, arrayName)
  if (array === undefined || text.charCodeAt(array.start) !== OPEN_ARRAY) return spans
  let at = skipSpace(text, array.start + 1)
  while (at < array.end && text.charCodeAt(at) !== CLOSE_ARRAY) {
    spans.push(memberSpanAt(text, at, name))
    at = skipComma(text, skipValue(text, at))
  }
  return spans
}

/** Whether the value has more than `levels` arrays and objects inside each other. */
export const isNestedDeeper = (text: string, { start, end }: JsonSpan, levels: number): boolean => {
  // Each level has two brackets.
  if (end - start <= 2 * levels) return false
  let depth = 0
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = skipString(text, at) - 1
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if ((code === OPEN_OBJECT || code === OPEN_ARRAY) && ++depth > levels) return true
  }
  return false
}

/** The UTF-8 bytes of a part of the text. They equal the original bytes if those were valid UTF-8. */
export const spanBytes = (text: string, span: JsonSpan): Uint8Array =>
  encoder.encode(text.slice(span.start, span.end))

const encoder = new TextEncoder()

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const memberSpanAt = (text: string, objectStart: number, name: string): JsonSpan | undefined => {
  if (text.charCodeAt(objectStart) !== OPEN_OBJECT) return undefined
  let found: JsonSpan | undefined
  let at = skipSpace(text, objectStart + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = skipString(text, at)
    const colon = skipSpace(text, keyEnd)
    const start = skipSpace(text, colon + 1)
    if (start >= text.length) return found
    const end = skipValue(text, start)
    if (isKey(text, at, keyEnd, name)) found = { start, end }
    at = skipComma(text, end)
  }
  return found
}

/** Whether the string literal from `start` to `end` (quotes included) spells `name`. */
const isKey = (text: string, start: number, end: number, name: string): boolean => {
  const raw = text.slice(start + 1, end - 1)
  return raw === name || (raw.includes("\\") && JSON.parse(`"${raw}"`) === name)
}

/** The index after the value that begins at `start`. */
const skipValue = (text: string, start: number): number => {
  let at = start
  let depth = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = skipString(text, at)
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth++
      at++
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth--
      at++
    } else if (depth === 0) {
      return skipScalar(text, at)
    } else {
      at++
      continue
    }
    if (depth <= 0) return at
  }
  return at
}

/** The index after the string literal whose opening quote is at `start`. */
const skipString = (text: string, start: number): number => {
  let at = start
  while (true) {
    at = text.indexOf('"', at + 1)
    if (at < 0) return text.length
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
    // A quote after an odd number of backslashes is escaped. An even number of backslashes escape each other.
    if (backslashes % 2 === 0) return at + 1
  }
}

/** The index after the number or word that begins at `start`; always beyond `start`. */
const skipScalar = (text: string, start: number): number => {
  let at = start + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= 0x20) break
    at++
  }
  return at
}

const skipSpace = (text: string, start: number): number => {
  let at = start
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return at
}

const skipComma = (text: string, start: number): number => {
  const at = skipSpace(text, start)
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at
}
