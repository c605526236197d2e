// Parses a large JSON body in slices: first a scan that checks its form, then the items of its arrays, a few at a time.
// Between the slices other work of the thread runs.
import { type ByteSpan, type JsonFault, JsonScan, type ScannedPart } from "@punctual/api/JsonScan"
import type { JsonScanOptions } from "@punctual/api/JsonScanOptions"
import { nextTurn } from "@punctual/api/nextTurn"

export interface JsonBodyOptions extends JsonScanOptions {
  /** If an array has more items, none of them is parsed. */
  readonly itemsMax: number
  /** Ends a slice. Resolves when other work of the thread had its turn. */
  readonly pause?: (() => Promise<void>) | undefined
}

export type JsonBody =
  | { readonly fault: JsonFault }
  | {
      /** The parsed body. Its items are an empty array, and its payload is null. */
      readonly value: unknown
      /** The parsed items of each array. Each payload is the bytes that were sent. */
      readonly items: ReadonlyArray<ParsedItems>
      /** The bytes of the body's own payload. */
      readonly payload: Uint8Array | undefined
    }

/** "tooMany" if none was parsed. `undefined` if the body has no such array. */
export type ParsedItems = Array<unknown> | "tooMany" | undefined

/** How much is scanned, or parsed, in one slice. Both take about a millisecond or less. */
const scannedAtOnce = 128 * 1024
const parsedAtOnce = 32 * 1024

/** The bytes must be valid UTF-8. */
export const parseBody = async (bytes: Uint8Array, options: JsonBodyOptions): Promise<JsonBody> => {
  const { pause = nextTurn, itemsMax } = options
  const scan = new JsonScan(bytes, options)
  while (!scan.advance(scannedAtOnce)) await pause()
  if (scan.fault !== undefined) return { fault: scan.fault }
  if (bytes.byteLength > parsedAtOnce) await pause()
  const text = textWithout(bytes, scan.whole, [
    ...scan.itemArrays.map((span) => ({ ...span, instead: "[]" })),
    ...scan.payloads.map((span) => ({ ...span, instead: "null" })),
  ])
  const value: unknown = JSON.parse(text)
  const payload = scan.payloads.at(-1)
  const items: Array<ParsedItems> = []
  for (const index of options.items?.keys() ?? []) {
    const parts = scan.itemsOf(index)
    const isTooMany = parts !== undefined && parts.length > itemsMax
    items.push(isTooMany ? "tooMany" : parts && (await parseItems(bytes, parts, pause)))
  }
  return { value, items, payload: payload && copyOf(bytes, payload) }
}

const parseItems = async (
  bytes: Uint8Array,
  parts: ReadonlyArray<ScannedPart>,
  pause: () => Promise<void>,
): Promise<Array<unknown>> => {
  const items: Array<unknown> = []
  for (let first = 0; first < parts.length; ) {
    const end = endOfGroup(parts, first)
    parseGroup(bytes, parts.slice(first, end), items)
    first = end
    if (first < parts.length) await pause()
  }
  return items
}

/** The index after the last item of a group that is small enough to be parsed at once. A group has at least one item. */
const endOfGroup = (parts: ReadonlyArray<ScannedPart>, first: number): number => {
  const start = parts[first]?.start ?? 0
  let end = first + 1
  for (let part = parts[end]; part !== undefined && part.end - start <= parsedAtOnce; part = parts[end]) end++
  return end
}

/**
 * A group is one JSON text. Payloads are cut out of the bytes, so a payload that is not tiny is left out of the text: it would
 * be decoded and parsed for nothing, and a large body would leave twice its size of unused strings behind.
 */
const parseGroup = (bytes: Uint8Array, parts: ReadonlyArray<ScannedPart>, into: Array<unknown>): void => {
  const [first] = parts
  const last = parts.at(-1)
  if (first === undefined || last === undefined) return
  const text = textWithout(
    bytes,
    { start: first.start, end: last.end },
    parts.flatMap(({ payloads }) =>
      payloads.filter(isWorthLeavingOut).map((span) => ({ ...span, instead: "null" })),
    ),
  )
  const parsed: ReadonlyArray<unknown> = JSON.parse(`[${text}]`)
  for (const [index, item] of parsed.entries()) {
    const payload = parts[index]?.payloads.at(-1)
    if (payload !== undefined && hasPayload(item)) item.payload = copyOf(bytes, payload)
    into.push(item)
  }
}

/** For a shorter payload, two more decodes would cost more than its text. */
const parsedPayloadBytes = 512

const isWorthLeavingOut = ({ start, end }: ByteSpan): boolean => end - start > parsedPayloadBytes

/** The text of a part with other text instead of these spans. */
const textWithout = (
  bytes: Uint8Array,
  { start, end }: ByteSpan,
  cuts: Array<ByteSpan & { readonly instead: string }>,
): string => {
  let text = ""
  let at = start
  for (const cut of cuts.sort((one, other) => one.start - other.start)) {
    text += textOf(bytes, at, cut.start) + cut.instead
    at = cut.end
  }
  return text + textOf(bytes, at, end)
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  decoder.decode(bytes.subarray(start, end))

/** A copy, because a view would keep the whole body in memory as long as the payload. */
const copyOf = (bytes: Uint8Array, { start, end }: ByteSpan): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end))

export const hasPayload = (input: unknown): input is { payload: unknown } =>
  typeof input === "object" && input !== null && Object.hasOwn(input, "payload")
