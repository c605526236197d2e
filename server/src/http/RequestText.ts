// Turns the bytes of a body into the input of a schema: parsed JSON, in which each payload is the bytes that were sent.
// No step may hold the thread for long, because timers fire on the same thread. So a large body is scanned, cut and
// parsed in slices, and other work runs between them. A small body is parsed at once: that is the hot path.
//
// The limits of the form of a body (`bodyForm`) are checked before anything is parsed. A small body needs only the check
// of its payload's nesting: it is too small for the other limits to matter, and schemas refuse all other nesting.
import { isUtf8 } from "node:buffer"
import { invalidField } from "@punctual/api/invalidRequest"
import { type ByteSpan, type JsonFault, JsonScan, type ScannedPart } from "@punctual/api/JsonScan"
import { elementSpans, isNestedDeeper, type JsonSpan, memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { KeyName } from "@punctual/api/KeyName"
import { bodyForm } from "@punctual/api/Limits"
import { InvalidJson, type Problem } from "@punctual/api/Problem"
import { nextTurn } from "./nextTurn.ts"

/** Where the payloads of a request are. */
export interface PayloadPlace {
  /** The payload is a member of each item of the member `timers`, not of the body. */
  readonly inTimers?: true
  /** In the body of this call, null is not a payload but clears it. */
  readonly nullClears?: true
}

export interface RequestTextOptions {
  readonly payloads?: PayloadPlace | undefined
  /** How many items `timers` may have. If there are more, none is parsed, and the schema refuses them. */
  readonly timersMax: number
  /** Ends a slice. Resolves when other work of the thread had its turn. */
  readonly pause?: () => Promise<void>
}

export type RequestRead = { readonly input: unknown } | { readonly problem: Problem }

/** A body up to this size is parsed at once. */
const smallTextBytes = 16 * 1024
/** How much is scanned, or parsed, in one slice. Both take about a millisecond or less. */
const scannedAtOnce = 128 * 1024
const parsedAtOnce = 32 * 1024

export class RequestText {
  readonly #options: RequestTextOptions
  readonly #pause: () => Promise<void>

  constructor(options: RequestTextOptions) {
    this.#options = options
    this.#pause = options.pause ?? nextTurn
  }

  /** Answers at once if the body is small. */
  read(body: Uint8Array): RequestRead | Promise<RequestRead> {
    const bytes = withoutMark(body)
    if (isSmallText(bytes)) return this.#readSmall(bytes)
    return isUtf8(bytes) ? this.#readInSlices(bytes) : notUtf8()
  }

  #readSmall(bytes: Uint8Array): RequestRead {
    let text: string
    let input: unknown
    try {
      text = strictDecoder.decode(bytes)
    } catch {
      return notUtf8()
    }
    try {
      input = JSON.parse(text)
    } catch (error) {
      const detail = bytes.byteLength === 0 ? emptyBody : whyMalformed(error)
      return { problem: new InvalidJson({ detail }) }
    }
    const { payloads } = this.#options
    if (payloads === undefined) return { input }
    if (payloads.inTimers !== true) {
      if (!hasPayload(input) || this.#isClearing(input)) return { input }
      return placeSmall(input, text, memberSpan(text, "payload"), "") ?? { input }
    }
    if (!hasTimers(input)) return { input }
    const spans = elementSpans(text, "timers", "payload")
    for (const [index, item] of input.timers.entries()) {
      const refused = hasPayload(item) ? placeSmall(item, text, spans[index], `/timers/${index}`) : undefined
      if (refused !== undefined) return refused
    }
    return { input }
  }

  async #readInSlices(bytes: Uint8Array): Promise<RequestRead> {
    const { payloads } = this.#options
    const scan = new JsonScan(bytes, {
      ...bodyForm,
      payload: payloads === undefined ? undefined : payloadName,
      items: payloads?.inTimers === true ? timersName : undefined,
    })
    while (!scan.advance(scannedAtOnce)) await this.#pause()
    if (scan.fault !== undefined) return { problem: problemOfFault(scan.fault) }
    await this.#pause()
    const input: unknown = JSON.parse(
      textWithout(bytes, scan.whole, [
        { spans: scan.itemArrays, instead: "[]" },
        { spans: scan.payloads, instead: "null" },
      ]),
    )
    if (scan.items !== undefined && hasTimers(input)) input.timers = await this.#items(bytes, scan.items)
    const payload = scan.payloads.at(-1)
    if (payload !== undefined && hasPayload(input)) {
      const isCleared = payloads?.nullClears === true && isNull(bytes, payload)
      if (!isCleared) input.payload = copyOf(bytes, payload)
    }
    return { input }
  }

  async #items(bytes: Uint8Array, parts: ReadonlyArray<ScannedPart>): Promise<Array<unknown>> {
    const { timersMax } = this.#options
    // The schema only has to see that there are too many.
    if (parts.length > timersMax) return new Array<unknown>(timersMax + 1).fill(null)
    const items: Array<unknown> = []
    for (let first = 0; first < parts.length; ) {
      const end = endOfGroup(parts, first)
      parseGroup(bytes, parts.slice(first, end), items)
      first = end
      if (first < parts.length) await this.#pause()
    }
    return items
  }

  #isClearing(input: { readonly payload: unknown }): boolean {
    return this.#options.payloads?.nullClears === true && input.payload === null
  }
}

const payloadName = new KeyName("payload")
const timersName = new KeyName("timers")

/** Whether the body is parsed at once. */
const isSmallText = (bytes: Uint8Array): boolean => bytes.byteLength <= smallTextBytes

const decoder = new TextDecoder()
const strictDecoder = new TextDecoder("utf-8", { fatal: true })

const notUtf8 = (): RequestRead => ({
  problem: new InvalidJson({ detail: "The body is not valid UTF-8." }),
})

const emptyBody = "The body is empty; it must be a JSON object."

const whyMalformed = (error: unknown): string => {
  const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : ""
  return `The body cannot be parsed as JSON: ${reason.slice(0, 200).toWellFormed()}`
}

const problemOfFault = (fault: JsonFault): Problem => {
  if (fault.kind === "malformed") {
    return new InvalidJson({ detail: `The body cannot be parsed as JSON: ${fault.detail}` })
  }
  const pointer = fault.item === undefined ? "" : `/timers/${fault.item}`
  return invalidField(pointer, fault.detail)
}

const placeSmall = (
  input: { payload: unknown },
  text: string,
  span: JsonSpan | undefined,
  pointer: string,
): RequestRead | undefined => {
  if (span === undefined) throw new Error("a parsed payload is not in its text")
  const levels = bodyForm.depthMax - (pointer === "" ? levelsAround : levelsAroundItem)
  if (isNestedDeeper(text, span, levels)) {
    const detail = `must not be nested deeper than ${bodyForm.depthMax} levels`
    return { problem: problemOfFault({ kind: "exceeds", detail }) }
  }
  input.payload = spanBytes(text, span)
  return undefined
}

/** The levels outside a payload: the body; or the body, the array and the item. */
const levelsAround = 1
const levelsAroundItem = 3

/** The index after the last item of a group that is small enough to be parsed at once. A group has at least one item. */
const endOfGroup = (parts: ReadonlyArray<ScannedPart>, first: number): number => {
  const start = parts[first]?.start ?? 0
  let end = first + 1
  for (let part = parts[end]; part !== undefined && part.end - start <= parsedAtOnce; part = parts[end]) end++
  return end
}

/** A small group is one JSON text. A large item is parsed without its payload, which may be nearly all of it. */
const parseGroup = (bytes: Uint8Array, parts: ReadonlyArray<ScannedPart>, into: Array<unknown>): void => {
  const [first] = parts
  const last = parts.at(-1)
  if (first === undefined || last === undefined) return
  const isSmall = last.end - first.start <= parsedAtOnce
  const text = isSmall
    ? textOf(bytes, first.start, last.end)
    : textWithout(bytes, first, [{ spans: first.payloads, instead: "null" }])
  const parsed: ReadonlyArray<unknown> = JSON.parse(`[${text}]`)
  for (const [index, item] of parsed.entries()) {
    const payload = parts[index]?.payloads.at(-1)
    if (payload !== undefined && hasPayload(item)) item.payload = copyOf(bytes, payload)
    into.push(item)
  }
}

interface Cut {
  readonly spans: ReadonlyArray<ByteSpan>
  readonly instead: string
}

/** The text of a part with other text instead of these spans. */
const textWithout = (bytes: Uint8Array, { start, end }: ByteSpan, cuts: ReadonlyArray<Cut>): string => {
  const spans = cuts
    .flatMap((cut) => cut.spans.map((span) => ({ ...span, instead: cut.instead })))
    .sort((one, other) => one.start - other.start)
  let text = ""
  let at = start
  for (const span of spans) {
    text += textOf(bytes, at, span.start) + span.instead
    at = span.end
  }
  return text + textOf(bytes, at, end)
}

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end))

const isNull = (bytes: Uint8Array, { start, end }: ByteSpan): boolean => textOf(bytes, start, end) === "null"

/** A copy, because a view would keep the whole body in memory as long as the payload. */
const copyOf = (bytes: Uint8Array, { start, end }: ByteSpan): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end))

/** A byte order mark is allowed at the start and not a part of the text. */
const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

const hasPayload = (input: unknown): input is { payload: unknown } =>
  typeof input === "object" && input !== null && Object.hasOwn(input, "payload")

const hasTimers = (input: unknown): input is { timers: Array<unknown> } =>
  typeof input === "object" && input !== null && "timers" in input && Array.isArray(input.timers)
