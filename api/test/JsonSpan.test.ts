import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { elementSpans, memberSpan, spanBytes } from "../src/JsonSpan.ts"

const cut = (text: string, name: string): string | undefined => {
  const span = memberSpan(text, name)
  return span === undefined ? undefined : text.slice(span.start, span.end)
}

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)

/** A string literal that may spell any of its characters as an escape. */
const literalOf = (value: string, escapes: ReadonlyArray<boolean>): string => {
  let literal = ""
  for (let at = 0; at < value.length; at++) {
    const hex = value.charCodeAt(at).toString(16).padStart(4, "0")
    literal += escapes[at % escapes.length] ? `\\u${hex}` : JSON.stringify(value[at]).slice(1, -1)
  }
  return `"${literal}"`
}

const literal = fc
  .tuple(
    fc.oneof(fc.constantFrom("payload", "timers", "", '"', "\\", "a\\"), fc.string()),
    fc.array(fc.boolean(), { minLength: 1 }),
  )
  .map(([value, escapes]) => literalOf(value, escapes))

/** JSON texts as people write them: any white space, duplicate keys, escaped keys, long numbers. */
const { json, object } = fc.letrec<{ json: string; object: string; array: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("null", "true", "false", "0", "-0.0", "1e400", "12345678901234567890.10"),
    literal,
    tie("object"),
    tie("array"),
  ),
  object: fc
    .array(fc.tuple(space, literal, space, space, tie("json"), space), { maxLength: 6 })
    .map((members) => `{${members.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`)}}`),
  array: fc
    .array(fc.tuple(space, tie("json"), space), { maxLength: 4 })
    .map((elements) => `[${elements.map((parts) => parts.join(""))}]`),
}))

const keysOf = (text: string): ReadonlyArray<string> => Object.keys(JSON.parse(text))

describe("memberSpan", () => {
  test("finds for each key of an object the text that JSON.parse reads for it", () => {
    fc.assert(
      fc.property(space, object, space, (before, text, after) => {
        const whole = before + text + after
        for (const key of keysOf(whole)) {
          const found = cut(whole, key)
          expect(found).toBe(found?.trim() as string)
          expect(JSON.parse(found as string)).toEqual(JSON.parse(whole)[key])
        }
      }),
      { numRuns: 500 },
    )
  })

  test("finds nothing where JSON.parse finds no own member", () => {
    fc.assert(
      fc.property(json, fc.string(), (text, name) => {
        const value = JSON.parse(text)
        const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
        fc.pre(!isObject || !Object.hasOwn(value, name))
        expect(memberSpan(text, name)).toBeUndefined()
      }),
    )
  })

  test("keeps the value as it was written", () => {
    expect(cut('{"payload": { "b":1.0,\n"a" : 12345678901234567890 } }', "payload")).toBe(
      '{ "b":1.0,\n"a" : 12345678901234567890 }',
    )
  })

  test("takes the last of duplicate keys, escaped or not", () => {
    expect(cut('{"payload":1,"p\\u0061yload":2,"other":3}', "payload")).toBe("2")
    expect(cut('{"p\\u0061yload":2,"payload":1}', "payload")).toBe("1")
  })

  test("does not read nested objects or strings", () => {
    expect(cut('{"a":{"payload":1},"b":"\\"payload\\":2","c":["payload"]}', "payload")).toBeUndefined()
  })

  test("uses no stack for deep nesting", () => {
    const deep = "[".repeat(500_000) + "]".repeat(500_000)
    expect(cut(`{"payload":${deep}}`, "payload")?.length).toBe(1_000_000)
  })

  test("finds in a truncated text only the members whose value had begun", () => {
    fc.assert(
      fc.property(object, fc.nat(), (text, seed) => {
        const cutAt = seed % (text.length + 1)
        const whole = memberSpan(text, "payload")
        const begun = memberSpan(text.slice(0, cutAt), "payload")
        if (whole === undefined) expect(begun).toBeUndefined()
        if (whole !== undefined && cutAt > whole.start) {
          expect(begun).toEqual({ start: whole.start, end: Math.min(whole.end, cutAt) })
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe("elementSpans", () => {
  test("answers for each element what memberSpan answers for its text", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(space, json, space)), object, (elements, other) => {
        const array = elements.map((parts) => parts.join("")).join(",")
        const text = `{"timers":[0],"other":${other} , "timers" : [${array}]}`
        const found = elementSpans(text, "timers", "payload").map((span) =>
          span === undefined ? undefined : text.slice(span.start, span.end),
        )
        expect(found).toEqual(elements.map(([, element]) => cut(element, "payload")))
      }),
      { numRuns: 500 },
    )
  })

  test("is empty where there is no such array", () => {
    expect(elementSpans('{"timers":{"payload":1}}', "timers", "payload")).toEqual([])
    expect(elementSpans("{}", "timers", "payload")).toEqual([])
    expect(elementSpans('{"timers":[ ]}', "timers", "payload")).toEqual([])
  })
})

describe("spanBytes", () => {
  test("returns the bytes of the value", () => {
    const bytes = new TextEncoder().encode('{"payload":"Zürich 🕰"}')
    const text = new TextDecoder().decode(bytes)
    const span = memberSpan(text, "payload")
    expect(span && spanBytes(text, span)).toEqual(bytes.slice(11, -1))
  })
})
