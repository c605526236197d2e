import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type ByteSpan, JsonScan } from "../src/JsonScan.ts"
import type { JsonScanOptions } from "../src/JsonScanOptions.ts"
import { elementSpans, memberSpan } from "../src/JsonSpan.ts"
import { KeyName } from "../src/KeyName.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const timers = new KeyName("timers")
const payload = new KeyName("payload")

const limits: JsonScanOptions = {
  depthMax: 64,
  valuesMax: 200_000,
  ownValuesMax: 200_000,
  ownBytesMax: 1_000_000,
}

const scanOf = (text: string, options: Partial<JsonScanOptions> = {}, sliceBytes = 7) => {
  const scan = new JsonScan(encoder.encode(text), { ...limits, ...options })
  let slices = 1
  while (!scan.advance(sliceBytes)) slices++
  return { scan, slices }
}

const faultOf = (text: string, options?: Partial<JsonScanOptions>) => scanOf(text, options).scan.fault

const cut = (text: string, span: ByteSpan | undefined): string | undefined =>
  span && decoder.decode(encoder.encode(text).subarray(span.start, span.end))

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const jsonText = fc.json({ maxDepth: 5 })
/** Texts that are nearly JSON: one character of a JSON text is replaced, removed or added. */
const nearJson = fc
  .tuple(
    jsonText,
    fc.nat(),
    fc.constantFrom(...'{}[]",:\\u01-+.eEtfn \n\t\u0001\u00a0ü', ""),
    fc.nat({ max: 1 }),
  )
  .map(([text, seed, put, removed]) => {
    const at = seed % (text.length + 1)
    return text.slice(0, at) + put + text.slice(at + removed)
  })
const numberLike = fc.stringMatching(/^[-+.eE0-9]{1,8}$/)

describe("what is JSON", () => {
  test("the scan accepts exactly the texts that JSON.parse accepts, however it is sliced", () => {
    fc.assert(
      fc.property(fc.oneof(nearJson, numberLike), fc.integer({ min: 1, max: 9 }), (text, sliceBytes) => {
        fc.pre(text.isWellFormed())
        const { scan } = scanOf(text, {}, sliceBytes)
        expect([text, scan.fault === undefined]).toEqual([text, isJson(text)])
      }),
      { numRuns: 5_000 },
    )
  })

  test("a fault names what is wrong and where", () => {
    const faults: Record<string, string> = {
      "": "the text ends too early (at byte 1)",
      '{"a":1,}': 'a field name in quotes or "}" is missing (at byte 8)',
      '{"a" 1}': '":" is missing after a field name (at byte 6)',
      "[1 2]": '"," or a closing bracket is missing (at byte 4)',
      "{}{}": "there is more after the end of the JSON value (at byte 3)",
      '"a\u0001"': "a control character in a text (at byte 3)",
      '"\\x"': "a wrong escape in a text (at byte 3)",
      "[01]": '"," or a closing bracket is missing (at byte 3)',
      "[1.]": "a number is not complete (at byte 4)",
      nul: "the text ends too early (at byte 4)",
      hello: "a value is missing (at byte 1)",
    }
    for (const [text, detail] of Object.entries(faults)) {
      expect(faultOf(text)).toEqual({ kind: "malformed", detail })
    }
  })

  test("no call reads more than it may", () => {
    for (const text of [`"${"x".repeat(1_000)}"`, "1".repeat(1_000), `[${" ".repeat(1_000)}]`]) {
      expect(scanOf(text, {}, 100).slices).toBeGreaterThanOrEqual(10)
    }
  })
})

describe("limits", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

  test("of nesting", () => {
    expect(faultOf(nested(64))).toBeUndefined()
    expect(faultOf(nested(65))).toEqual({
      kind: "exceeds",
      detail: "must not be nested deeper than 64 levels (this limit is fixed)",
    })
    expect(faultOf("[".repeat(100_000))?.kind).toBe("exceeds")
  })

  test("of members and elements in total", () => {
    expect(faultOf("[1,[2,{}]]", { valuesMax: 4 })).toBeUndefined()
    expect(faultOf('{"a":1,"b":[2,3],"c":4}', { valuesMax: 4 })).toEqual({
      kind: "exceeds",
      detail: "must have at most 4 fields and elements in total (this limit is fixed)",
    })
  })

  test("of a body beside its payload", () => {
    const options = { payload, ownValuesMax: 2, ownBytesMax: 50 }
    expect(faultOf('{"a":1,"payload":[1,2,3,4,5]}', options)).toBeUndefined()
    expect(faultOf('{"a":1,"payload":[1,2],"payload":[3,4]}', options)?.detail).toBe(
      "must have at most 2 fields and elements besides its payload (this limit is fixed)",
    )
    expect(faultOf(`{"a":1,"payload":"${"x".repeat(100)}"}`, options)).toBeUndefined()
    expect(faultOf(`{"a":"${"x".repeat(100)}"}`, options)?.detail).toBe(
      "must have at most 50 bytes besides its payload (this limit is fixed)",
    )
  })

  test("of each item beside its payload, and of the body beside its items", () => {
    const options = { items: [timers], payload, ownValuesMax: 2, ownBytesMax: 50 }
    const item = '{"a":1,"payload":[1,2,3,4]}'
    expect(faultOf(`{"timers":[${item},${item},${item}]}`, options)).toBeUndefined()
    expect(faultOf(`{"timers":[${item},{"a":1,"b":2,"c":3},${item}]}`, options)).toEqual({
      kind: "exceeds",
      detail: "must have at most 2 fields and elements besides its payload (this limit is fixed)",
      item: 1,
    })
    expect(faultOf(`{"timers":[${item},"${"x".repeat(100)}"]}`, options)).toMatchObject({ item: 1 })
    expect(faultOf(`{"a":1,"b":2,"timers":[${item}]}`, options)).toEqual({
      kind: "exceeds",
      detail: "must have at most 2 fields and elements besides its payload (this limit is fixed)",
    })
  })
})

describe("parts", () => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/)
  const key = fc.constantFrom('"payload"', '"p\\u0061yload"', '"timers"', '"a"', '"payloads"', '"\\u0070"')
  const object = fc
    .array(fc.tuple(space, key, space, jsonText, space))
    .map((members) => `{${members.map(([a, name, b, value, c]) => `${a}${name}${b}:${a}${value}${c}`)}}`)
  const spanIn = (text: string, name: string) => {
    const span = memberSpan(text, name)
    return span && text.slice(span.start, span.end)
  }

  test("the payload of a body is the text that JSON.parse reads for it", () => {
    fc.assert(
      fc.property(object, fc.integer({ min: 1, max: 9 }), (text, sliceBytes) => {
        fc.pre(text.isWellFormed())
        const { scan } = scanOf(text, { payload }, sliceBytes)
        expect(cut(text, scan.payloads.at(-1))).toBe(spanIn(text, "payload") as string)
      }),
      { numRuns: 500 },
    )
  })

  test("items and their payloads are those that JSON.parse reads, also with duplicate keys", () => {
    const items = fc
      .array(fc.tuple(space, fc.oneof(object, jsonText), space))
      .map((elements) => `[${elements.map((parts) => parts.join(""))}]`)
    fc.assert(
      fc.property(items, items, object, (first, last, other) => {
        const text = `{"timers":${first},"other":${other} , "t\\u0069mers" : ${last}}`
        fc.pre(text.isWellFormed())
        const { scan } = scanOf(text, { items: [timers], payload })
        const found = scan.itemsOf(0)?.map(({ payloads }) => cut(text, payloads.at(-1)))
        const spans = elementSpans(text, "timers", "payload")
        expect(found).toEqual(spans.map((span) => span && text.slice(span.start, span.end)))
        const parsed = scan.itemsOf(0)?.map((item) => JSON.parse(cut(text, item) as string))
        expect(parsed).toEqual(JSON.parse(last))
        expect(scan.itemArrays.map((array) => cut(text, array))).toEqual([first, last])
      }),
      { numRuns: 500 },
    )
  })

  test("a body may have several arrays of items, each with its own limits beside the rest", () => {
    const names = [new KeyName("specs"), timers]
    const text = '{"timers":[{"a":1}],"x":[7],"specs":[1,[2]],"timers":[3,{"b":4},"5"]}'
    const { scan } = scanOf(text, { items: names, ownValuesMax: 5 })
    const found = names.map((_, index) => scan.itemsOf(index)?.map((item) => cut(text, item)))
    expect([scan.fault, ...found]).toEqual([undefined, ["1", "[2]"], ["3", '{"b":4}', '"5"']])
    expect(scan.itemArrays.map((span) => cut(text, span))).toEqual([
      '[{"a":1}]',
      "[1,[2]]",
      '[3,{"b":4},"5"]',
    ])
    expect(scanOf('{"specs":[]}', { items: names }).scan.itemsOf(1)).toBeUndefined()
    expect(faultOf('{"timers":[],"specs":[[1,2,3]]}', { items: names, ownValuesMax: 2 })?.kind).toBe(
      "exceeds",
    )
  })

  test("a body whose last value of the member is no array has no items", () => {
    for (const text of ['{"timers":[1],"timers":{"payload":1}}', "{}", "[]", '[{"timers":[1]}]']) {
      expect(scanOf(text, { items: [timers], payload }).scan.itemsOf(0)).toBeUndefined()
    }
  })

  test("members of the same name inside other values are no parts", () => {
    const text = '{"a":{"timers":[{"payload":1}]},"timers":[[{"payload":1}],{"b":{"payload":2}}]}'
    const { scan } = scanOf(text, { items: [timers], payload })
    expect(scan.itemsOf(0)?.map(({ payloads }) => payloads.length)).toEqual([0, 0])
    expect(scanOf('{"a":{"payload":1}}', { payload }).scan.payloads).toEqual([])
  })
})
