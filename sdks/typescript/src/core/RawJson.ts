/**
 * Payloads as JSON text. JavaScript cannot hold every JSON number: 12345678901234567890 would become
 * 12345678901234567000. Text that is passed on unchanged stays exact.
 */

/** JSON text that goes into a request unchanged, or that came out of an answer unchanged. Make it with `rawJson`. */
export class RawJson {
  /** Valid JSON. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The value, with the numbers that JavaScript can hold. */
  parse(): unknown {
    return JSON.parse(this.text)
  }

  /** So that `JSON.stringify` of an answer shows the value, not this object. */
  toJSON(): unknown {
    return this.parse()
  }
}

/** Makes a payload of JSON text. Throws a SyntaxError if the text is not JSON. */
export const rawJson = (text: string): RawJson => {
  JSON.parse(text)
  return new RawJson(text)
}

/** Like `JSON.stringify`, but with the exact text of each `RawJson`. */
export const jsonText = (value: unknown): string => writeJson(value) ?? "null"

const writeJson = (value: unknown): string | undefined => {
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`
  if (!isPlainObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).flatMap(([name, member]) => {
    const text = writeJson(member)
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
  })
  return `{${members.join(",")}}`
}

/** An object that `JSON.stringify` would write member by member. */
const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !("toJSON" in value)

/**
 * Parses JSON, but keeps the text of each member `payload` that is this many brackets deep. An answer with a timer has
 * its payload at depth 2, `{"timer":{"payload":`. A list has it at depth 3, `{"timers":[{"payload":`.
 */
export const parseWithRawPayloads = (text: string, payloadDepth: number): unknown => {
  const payloads: Array<RawJson> = []
  let cut = ""
  let copiedUntil = 0
  for (const { start, end } of payloadSpans(text, payloadDepth)) {
    cut += `${text.slice(copiedUntil, start)}${payloads.length}`
    payloads.push(new RawJson(text.slice(start, end).trim()))
    copiedUntil = end
  }
  const value: unknown = JSON.parse(cut + text.slice(copiedUntil))
  return putBack(value, payloads, payloadDepth)
}

const putBack = (value: unknown, payloads: ReadonlyArray<RawJson>, depth: number): unknown => {
  if (Array.isArray(value)) return value.map((item) => putBack(item, payloads, depth - 1))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      depth === 1
        ? [name, name === "payload" ? payloads[Number(member)] : member]
        : [name, putBack(member, payloads, depth - 1)],
    ),
  )
}

interface Span {
  readonly start: number
  readonly end: number
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/gs

/** Where the values of the payloads are. It relies on valid JSON: other text fails when it is parsed. */
const payloadSpans = (text: string, payloadDepth: number): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  let depth = 0
  let start: number | undefined
  for (const { 0: found, index } of text.matchAll(token)) {
    const isEnd = found === "}" || found === "]"
    if (start !== undefined && depth === payloadDepth && (isEnd || found === ",")) {
      spans.push({ start, end: index })
      start = undefined
    }
    if (found === "{" || found === "[") depth++
    else if (isEnd) depth--
    else if (found === '"payload"' && depth === payloadDepth && start === undefined) {
      const colon = /^\s*:/.exec(text.slice(index + found.length, index + found.length + 100))
      if (colon !== null) start = index + found.length + colon[0].length
    }
  }
  return spans
}
