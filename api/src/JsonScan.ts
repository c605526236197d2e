// Checks a JSON body byte by byte before anything parses it. A parser builds objects for the whole text at once. A body
// of a few megabytes with millions of tiny values would hold the thread for seconds and use gigabytes of memory. The
// scan builds nothing. It can stop after any byte and continue later, so its caller decides how long the thread works.
//
// One pass answers three questions. Is the text valid JSON? Is it within the limits of nesting and of the number of
// values? Where are the parts that are handled separately: the items of an array, and the payloads? As in `JSON.parse`,
// the last of duplicate keys counts, and an escaped key equals its plain form. The scan does not check UTF-8.

import type { JsonScanOptions } from "./JsonScanOptions.ts"
import type { KeyName } from "./KeyName.ts"
import {
  DIGITS,
  EXPONENT_DIGITS,
  FRACTION_DIGITS,
  isDigit,
  isHex,
  isWholeNumber,
  LEADING_ZERO,
  MINUS_SIGN,
  nextInNumber,
} from "./nextInNumber.ts"
import { isEscape, plainText } from "./plainText.ts"

/** A half-open range of bytes. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

/** The body, or one of its items. */
export interface ScannedPart extends ByteSpan {
  /** The values of the payload member, in order. The last one counts. */
  readonly payloads: ReadonlyArray<ByteSpan>
}

export type JsonFault =
  /** The text is not JSON. */
  | { readonly kind: "malformed"; readonly detail: string }
  /** The text exceeds a limit. `item` is the index of the item, if the limit is one of items. */
  | { readonly kind: "exceeds"; readonly detail: string; readonly item?: number }

export class JsonScan {
  readonly #bytes: Uint8Array
  readonly #options: JsonScanOptions
  readonly #itemsKeys: ReadonlyArray<KeyName>
  readonly #payloadKey: KeyName | undefined
  #at = 0
  #state: number = VALUE
  #depth = 0
  /** For each level, whether it is an object. */
  readonly #isObject: Array<number> = [0]
  #values = 0
  /** Where the current string or literal began. */
  #tokenStart = 0
  #isKey = false
  /** The rest of `true`, `false` or `null`, or the number of hexadecimal digits that must follow. */
  #expected = ""
  #hexLeft = 0
  /** The name of the member whose value comes next, if the scan looks for it. */
  #next = 0
  /** The start of the payload that is being read, and the number of values before it. */
  #payloadStart = -1
  #payloadDepth = 0
  #valuesBeforePayload = 0
  #valuesInPayloads = 0
  #bytesInPayloads = 0
  /** The values of the members `items` that were arrays. For each member, the elements of the last one count. */
  readonly #itemArrays: Array<ByteSpan> = []
  #itemsStart = -1
  #itemStart = -1
  #valuesBeforeItem = 0
  #valuesBeforeItems = 0
  #valuesInItems = 0
  #bytesInItems = 0
  /** For each member of `items`. */
  readonly #lists: Array<Array<ScannedPart> | undefined> = []
  #items: Array<ScannedPart> | undefined
  /** Of the current item. `undefined` if it has none so far. */
  #itemPayloads: Array<ByteSpan> | undefined
  readonly #ownPayloads: Array<ByteSpan> = []
  #wholeStart = -1
  #wholeEnd = -1
  #fault: JsonFault | undefined

  constructor(bytes: Uint8Array, options: JsonScanOptions) {
    this.#bytes = bytes
    this.#options = options
    this.#itemsKeys = options.items ?? []
    this.#payloadKey = options.payload
  }

  /** Reads at most this many bytes more. Returns whether there is nothing left to do. */
  advance(mostBytes: number): boolean {
    if (this.#fault === undefined) {
      this.#read(Math.min(this.#bytes.length, this.#at + mostBytes))
      if (this.#fault === undefined && this.#at === this.#bytes.length) this.#finish()
    }
    return this.#fault !== undefined || this.#at >= this.#bytes.length
  }

  /** What is wrong with the text. Only known when `advance` has returned true. */
  get fault(): JsonFault | undefined {
    return this.#fault
  }

  /** The items of the member with this index. `undefined` if the body has no such array. */
  itemsOf(index: number): ReadonlyArray<ScannedPart> | undefined {
    return this.#lists[index]
  }

  /** The bytes from the first to the last of the JSON value, without the blanks around it. */
  get whole(): ByteSpan {
    return { start: this.#wholeStart, end: this.#wholeEnd }
  }

  /** Every array that was given as the items, with its brackets. */
  get itemArrays(): ReadonlyArray<ByteSpan> {
    return this.#itemArrays
  }

  /** The payloads of the body itself. */
  get payloads(): ReadonlyArray<ByteSpan> {
    return this.#ownPayloads
  }

  #read(end: number): void {
    const bytes = this.#bytes
    let at = this.#at
    while (at < end && this.#fault === undefined) {
      const byte = bytes[at] as number
      switch (this.#state) {
        case TEXT: {
          while (at < end && plainText[bytes[at] as number] === 1) at++
          if (at === end) break
          const stop = bytes[at] as number
          if (stop === QUOTE) {
            at++
            this.#endText(at)
          } else if (stop === BACKSLASH) {
            at++
            this.#state = ESCAPE
          } else this.#malformed("a control character in a text", at)
          break
        }
        case VALUE:
        case FIRST_ELEMENT:
          if (byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN) at++
          else if (byte === CLOSE_ARRAY && this.#state === FIRST_ELEMENT) {
            at++
            this.#close(at)
          } else {
            this.#beginValue(byte, at)
            at++
          }
          break
        case AFTER_VALUE:
          if (byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN) at++
          else {
            this.#afterValue(byte, at)
            at++
          }
          break
        case KEY:
        case FIRST_KEY:
          if (byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN) at++
          else if (byte === QUOTE) {
            this.#isKey = true
            this.#tokenStart = at
            this.#state = TEXT
            at++
          } else if (byte === CLOSE_OBJECT && this.#state === FIRST_KEY) {
            at++
            this.#close(at)
          } else this.#malformed('a field name in quotes or "}" is missing', at)
          break
        case COLON:
          if (byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN) at++
          else if (byte === COLON_SIGN) {
            this.#state = VALUE
            at++
          } else this.#malformed('":" is missing after a field name', at)
          break
        case ESCAPE:
          if (byte === LETTER_U) {
            this.#hexLeft = 4
            this.#state = HEX
          } else if (isEscape[byte] === 1) this.#state = TEXT
          else this.#malformed("a wrong escape in a text", at)
          at++
          break
        case HEX:
          if (!isHex(byte)) this.#malformed("a wrong escape in a text", at)
          else if (--this.#hexLeft === 0) this.#state = TEXT
          at++
          break
        case WORD:
          if (byte !== this.#expected.charCodeAt(0)) this.#malformed("an unknown word", at)
          else {
            this.#expected = this.#expected.slice(1)
            at++
            if (this.#expected === "") this.#endValue(at)
          }
          break
        default: {
          while (at < end && this.#isDigitRun && isDigit(bytes[at] as number)) at++
          if (at < end && this.#inNumber(bytes[at] as number, at)) at++
        }
      }
    }
    this.#at = at
  }

  /** Ends a number at the end of the body, and refuses a body that ends too early. */
  #finish(): void {
    if (isWholeNumber(this.#state)) this.#endValue(this.#at)
    if (this.#state !== AFTER_VALUE || this.#depth > 0) {
      if (this.#fault === undefined) this.#malformed("the text ends too early", this.#at)
      return
    }
    const ownValues = this.#values - this.#valuesInItems - this.#valuesInPayloads
    const ownBytes = this.#wholeEnd - this.#wholeStart - this.#bytesInItems - this.#bytesInPayloads
    this.#checkOwn(ownValues, ownBytes, undefined)
  }

  #beginValue(byte: number, at: number): void {
    const depth = this.#depth
    if (depth === 0) this.#wholeStart = at
    else if (++this.#values > this.#options.valuesMax) {
      this.#exceeds(`must have at most ${this.#options.valuesMax} fields and elements in total`)
      return
    }
    this.#markPart(byte, at)
    switch (byte) {
      case QUOTE:
        this.#isKey = false
        this.#tokenStart = at
        this.#state = TEXT
        return
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (depth === this.#options.depthMax) {
          this.#exceeds(`must not be nested deeper than ${this.#options.depthMax} levels`)
          return
        }
        this.#depth = depth + 1
        this.#isObject[depth + 1] = byte === OPEN_OBJECT ? 1 : 0
        this.#state = byte === OPEN_OBJECT ? FIRST_KEY : FIRST_ELEMENT
        return
      case LETTER_T:
        this.#expect("rue")
        return
      case LETTER_F:
        this.#expect("alse")
        return
      case LETTER_N:
        this.#expect("ull")
        return
      case MINUS:
        this.#state = MINUS_SIGN
        return
      case ZERO:
        this.#state = LEADING_ZERO
        return
      default:
        if (isDigit(byte)) this.#state = DIGITS
        else this.#malformed("a value is missing", at)
    }
  }

  /** Notes where a payload, the items or one item begins. */
  #markPart(byte: number, at: number): void {
    if (this.#next !== 0) {
      if (this.#next === PAYLOAD) {
        this.#payloadStart = at
        this.#payloadDepth = this.#depth
        this.#valuesBeforePayload = this.#values
      } else {
        const isArray = byte === OPEN_ARRAY
        this.#items = isArray ? [] : undefined
        this.#lists[this.#next - ITEMS] = this.#items
        if (isArray) this.#itemsStart = at
        this.#valuesBeforeItems = this.#values
      }
      this.#next = 0
    } else if (this.#itemsStart >= 0 && this.#depth === 2 && this.#itemStart < 0) {
      this.#itemStart = at
      this.#valuesBeforeItem = this.#values
    }
  }

  #expect(rest: string): void {
    this.#expected = rest
    this.#state = WORD
  }

  #afterValue(byte: number, at: number): void {
    if (this.#depth === 0) this.#malformed("there is more after the end of the JSON value", at)
    else if (byte === COMMA) this.#state = this.#isObject[this.#depth] === 1 ? KEY : VALUE
    else if (byte === (this.#isObject[this.#depth] === 1 ? CLOSE_OBJECT : CLOSE_ARRAY)) this.#close(at + 1)
    else this.#malformed('"," or a closing bracket is missing', at)
  }

  /** `end` is the place after the closing bracket. */
  #close(end: number): void {
    this.#depth--
    this.#endValue(end)
  }

  #endText(end: number): void {
    if (!this.#isKey) {
      this.#endValue(end)
      return
    }
    this.#state = COLON
    if (this.#payloadStart >= 0) return
    const start = this.#tokenStart
    const isOfPayload =
      this.#itemsKeys.length === 0 ? this.#depth === 1 : this.#depth === itemDepth && this.#itemStart >= 0
    if (isOfPayload && this.#payloadKey?.is(this.#bytes, start, end) === true) this.#next = PAYLOAD
    else if (this.#depth === 1) {
      const index = this.#itemsKeys.findIndex((key) => key.is(this.#bytes, start, end))
      if (index >= 0) this.#next = ITEMS + index
    }
  }

  #endValue(end: number): void {
    this.#state = AFTER_VALUE
    if (this.#depth === 0) this.#wholeEnd = end
    if (this.#payloadStart >= 0) {
      if (this.#depth === this.#payloadDepth) this.#endPayload(end)
    } else if (this.#itemStart >= 0) {
      if (this.#depth === 2) this.#endItem(end)
    } else if (this.#itemsStart >= 0 && this.#depth === 1) {
      this.#itemArrays.push({ start: this.#itemsStart, end })
      this.#bytesInItems += end - this.#itemsStart
      this.#valuesInItems += this.#values - this.#valuesBeforeItems
      this.#itemsStart = -1
    }
  }

  #endPayload(end: number): void {
    const span = { start: this.#payloadStart, end }
    this.#payloadStart = -1
    const values = this.#values - this.#valuesBeforePayload
    if (this.#itemStart < 0) {
      this.#ownPayloads.push(span)
      this.#valuesInPayloads += values
      this.#bytesInPayloads += end - span.start
    } else {
      if (this.#itemPayloads === undefined) this.#itemPayloads = [span]
      else this.#itemPayloads.push(span)
      // The limit of the item does not count them.
      this.#valuesBeforeItem += values
    }
  }

  #endItem(end: number): void {
    const start = this.#itemStart
    const payloads = this.#itemPayloads ?? none
    this.#itemStart = -1
    this.#itemPayloads = undefined
    this.#items?.push({ start, end, payloads })
    let ownBytes = end - start
    for (const payload of payloads) ownBytes -= payload.end - payload.start
    this.#checkOwn(this.#values - this.#valuesBeforeItem, ownBytes, (this.#items?.length ?? 1) - 1)
  }

  #checkOwn(values: number, bytes: number, item: number | undefined): void {
    const { ownValuesMax, ownBytesMax, payload } = this.#options
    const beside = payload === undefined ? "" : ` besides its ${payload.name}`
    if (values > ownValuesMax) {
      this.#exceeds(`must have at most ${ownValuesMax} fields and elements${beside}`, item)
    } else if (bytes > ownBytesMax) {
      this.#exceeds(`must have at most ${ownBytesMax} bytes${beside}`, item)
    }
  }

  /** Whether any number of digits may follow. */
  get #isDigitRun(): boolean {
    return this.#state === DIGITS || this.#state === FRACTION_DIGITS || this.#state === EXPONENT_DIGITS
  }

  /** The next byte of a number that is no digit of a run. Returns whether the byte belongs to the number. */
  #inNumber(byte: number, at: number): boolean {
    const next = nextInNumber(this.#state, byte)
    if (next !== 0) {
      this.#state = next
      return true
    }
    if (isWholeNumber(this.#state)) this.#endValue(at)
    else this.#malformed("a number is not complete", at)
    return false
  }

  #malformed(what: string, at: number): void {
    this.#fault = { kind: "malformed", detail: `${what} (at byte ${at + 1})` }
  }

  #exceeds(limit: string, item?: number): void {
    const detail = `${limit} (this limit is fixed)`
    this.#fault = { kind: "exceeds", detail, ...(item === undefined ? {} : { item }) }
  }
}

const none: ReadonlyArray<ByteSpan> = []

/** What the next byte must be. */
const VALUE = 1
const FIRST_ELEMENT = 2
const AFTER_VALUE = 3
const KEY = 4
const FIRST_KEY = 5
const COLON = 6
const TEXT = 7
const ESCAPE = 8
const HEX = 9
const WORD = 10

/** The depth of the members of an item: inside the body, the array and the item. */
const itemDepth = 3

/** What the value of the last key is. The first member of `items` is ITEMS, the second is one more, and so on. */
const PAYLOAD = 1
const ITEMS = 2

const TAB = 0x09
const NEWLINE = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const COLON_SIGN = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
