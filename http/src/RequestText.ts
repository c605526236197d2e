// Turns the bytes of a body into the input of a schema: parsed JSON, in which each payload is the bytes that were sent.
// No step may hold the thread for long, because timers fire on the same thread. So a large body is scanned, cut and
// parsed in slices, and other work runs between them. A small body is parsed at once: that is the hot path.
//
// The limits of the form of a body (`bodyForm`) are checked before anything is parsed. A small body needs only the check
// of its payload's nesting: it is too small for the other limits to matter, and schemas refuse all other nesting.
import { isUtf8 } from "node:buffer"
import { invalidField } from "@punctual/api/invalidRequest"
import type { JsonFault } from "@punctual/api/JsonScan"
import { elementSpans, isNestedDeeper, type JsonSpan, memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { KeyName } from "@punctual/api/KeyName"
import { bodyForm } from "@punctual/api/Limits"
import { InvalidJson, type Problem } from "@punctual/api/Problem"
import { hasPayload, parseBody } from "./parseBody.ts"

/** Where the payloads of a request are. */
export interface PayloadPlace {
  /** The payload is a member of each item of this member, which is a list, and not of the body. */
  readonly inItemsOf?: string
  /** In the body of this call, null is not a payload but clears it. */
  readonly nullClears?: true
}

export interface RequestTextOptions {
  readonly payloads?: PayloadPlace | undefined
  /** How many items the list may have. If there are more, none is parsed, and the schema refuses them. */
  readonly itemsMax: number
  /** Ends a slice. Resolves when other work of the thread had its turn. */
  readonly pause?: (() => Promise<void>) | undefined
}

export type RequestRead = { readonly input: unknown } | { readonly problem: Problem }

/** A body up to this size is parsed at once. */
const smallTextBytes = 16 * 1024

export class RequestText {
  readonly #options: RequestTextOptions
  readonly #listName: KeyName | undefined

  constructor(options: RequestTextOptions) {
    this.#options = options
    const list = options.payloads?.inItemsOf
    this.#listName = list === undefined ? undefined : new KeyName(list)
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
    const list = payloads.inItemsOf
    if (list === undefined) {
      if (!hasPayload(input) || this.#isClearing(input)) return { input }
      return placeSmall(input, text, memberSpan(text, "payload"), "") ?? { input }
    }
    if (!hasList(input, list)) return { input }
    const spans = elementSpans(text, list, "payload")
    for (const [index, item] of (input[list] ?? []).entries()) {
      const refused = hasPayload(item) ? placeSmall(item, text, spans[index], `/${list}/${index}`) : undefined
      if (refused !== undefined) return refused
    }
    return { input }
  }

  async #readInSlices(bytes: Uint8Array): Promise<RequestRead> {
    const { payloads, itemsMax, pause } = this.#options
    const list = payloads?.inItemsOf
    const body = await parseBody(bytes, {
      ...bodyForm,
      payload: payloads === undefined ? undefined : payloadName,
      items: this.#listName === undefined ? undefined : [this.#listName],
      itemsMax,
      pause,
    })
    if ("fault" in body) return { problem: problemOfFault(body.fault, list) }
    const {
      value: input,
      items: [items],
      payload,
    } = body
    if (items !== undefined && list !== undefined && hasList(input, list)) {
      // The schema only has to see that there are too many.
      input[list] = items === "tooMany" ? new Array<unknown>(itemsMax + 1).fill(null) : items
    }
    if (payload !== undefined && hasPayload(input)) {
      const isCleared = payloads?.nullClears === true && isNull(payload)
      if (!isCleared) input.payload = payload
    }
    return { input }
  }

  #isClearing(input: { readonly payload: unknown }): boolean {
    return this.#options.payloads?.nullClears === true && input.payload === null
  }
}

const payloadName = new KeyName("payload")

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

const problemOfFault = (fault: JsonFault, list?: string): Problem => {
  if (fault.kind === "malformed") {
    return new InvalidJson({ detail: `The body cannot be parsed as JSON: ${fault.detail}` })
  }
  const pointer = fault.item === undefined || list === undefined ? "" : `/${list}/${fault.item}`
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
    const detail = `must not be nested deeper than ${bodyForm.depthMax} levels (this limit is fixed)`
    return { problem: problemOfFault({ kind: "exceeds", detail }) }
  }
  input.payload = spanBytes(text, span)
  return undefined
}

/** The levels outside a payload: the body; or the body, the array and the item. */
const levelsAround = 1
const levelsAroundItem = 3

const isNull = (payload: Uint8Array): boolean => decoder.decode(payload) === "null"

/** A byte order mark is allowed at the start and not a part of the text. */
const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

const hasList = (input: unknown, list: string): input is Record<string, Array<unknown>> =>
  typeof input === "object" && input !== null && list in input && Array.isArray(Reflect.get(input, list))
