// The hand-written decoder of plain creates accepts nothing that the schema refuses, and decodes to the same value.
import { describe, expect, test } from "bun:test"
import { Result, SchemaParser } from "effect"
import fc from "fast-check"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { defaultLimits } from "../src/Limits.ts"
import { makePlainCreate } from "../src/plainCreate.ts"
import { requestParseOptions } from "../src/requestParseOptions.ts"

const limits = { ...defaultLimits, urlLength: 100, aheadMs: 86_400_000 }
const readPlain = makePlainCreate(limits)
const decode = SchemaParser.decodeUnknownResult(makeCreateTimer(limits), requestParseOptions)

/** Returns whether the plain decoder took the input. */
const compare = (input: object): boolean => {
  const plain = readPlain(input)
  if (plain === undefined) return false
  const decoded = decode(input)
  if (Result.isFailure(decoded)) throw new Error(`the schema refuses it: ${decoded.failure}`)
  expect(plain).toEqual(decoded.success)
  expect(Object.keys(plain).toSorted()).toEqual(Object.keys(decoded.success).toSorted())
  return true
}

const bytes = new TextEncoder().encode('{"a":1}')

const usual = {
  namespace: "billing",
  timerId: "invoice-4711",
  executeAt: "2030-01-01T09:00:00.000Z",
  callbackUrl: "https://example.com/hooks/timer",
  payload: bytes,
}

/** Values at the edges of the rules, for every field. */
const oddTexts = [
  "",
  " ",
  "a",
  "_a",
  "_dead.x",
  "a b",
  "a\u0000",
  "a\u200b",
  "\ud800",
  "é".repeat(127),
  "é".repeat(128),
  "x".repeat(100),
  "x".repeat(101),
  "x".repeat(255),
  "x".repeat(256),
  "replace",
  "keep",
  "fail",
  "Keep",
  "0s",
  "24h",
  "86400001ms",
  "PT1H",
  "1.5s",
  "-1s",
  "2030-01-01T09:00Z",
  "2030-02-30T00:00:00Z",
  "2030-01-01T09:00:00",
  "2030-01-01T09:00:00.0001+02:00",
  "9999-12-31T23:59:59.9999Z",
  "0000-01-01T00:00:00Z",
  "http://127.0.0.1:9/hook",
  "HTTP://EXAMPLE.COM",
  "https://user@example.com/",
  "https://example.com/#part",
  "https://example.com:65536/",
  "https://exa\\mple.com/",
  "https:///",
  "ftp://example.com/",
  `https://example.com/${"a".repeat(80)}`,
  `https://example.com/${"a".repeat(81)}`,
  "https://example.com/ü",
]

const fields = [
  "namespace",
  "timerId",
  "executeAt",
  "delay",
  "callbackUrl",
  "target",
  "payload",
  "retryPolicy",
  "expireAfter",
  "onExpire",
  "onDead",
  "correlationId",
  "tags",
  "traceparent",
  "onExisting",
  "unknown",
  "__proto__",
  "constructor",
]

const value = fc.oneof(
  fc.constantFrom(...oddTexts),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom<unknown>(null, true, 7, [], {}, bytes, new Uint8Array(0), ["a"], { type: "event" }),
)

describe("a plain create", () => {
  test("of the usual form is taken, with and without each optional field", () => {
    const { timerId: _, payload: __, ...least } = usual
    const { executeAt: ___, ...timeless } = usual
    expect(compare(usual)).toBe(true)
    expect(compare(least)).toBe(true)
    expect(compare({ ...timeless, delay: "90s" })).toBe(true)
    for (const onExisting of ["replace", "keep", "fail"]) {
      expect(compare({ ...usual, correlationId: "order-1", onExisting })).toBe(true)
    }
  })

  test("with any other field, with two times, or without a URL is left to the schema", () => {
    expect(readPlain({ ...usual, delay: "90s" })).toBeUndefined()
    expect(readPlain({ ...usual, tags: ["a"] })).toBeUndefined()
    expect(readPlain({ ...usual, target: { type: "event" } })).toBeUndefined()
    expect(readPlain({ ...usual, callbackUrl: undefined })).toBeUndefined()
    expect(readPlain(JSON.parse('{"__proto__":"a"}'))).toBeUndefined()
    for (const input of [null, 7, "text", [], [usual]]) expect(readPlain(input)).toBeUndefined()
  })

  test("has the same value as by the schema, for each odd value of each field", () => {
    const taken = new Set<boolean>()
    for (const field of fields) {
      for (const odd of [...oddTexts, null, 7, true, [], {}, bytes]) {
        const input = JSON.parse(JSON.stringify(usual)) as Record<string, unknown>
        input["payload"] = bytes
        Object.defineProperty(input, field, {
          value: odd,
          enumerable: true,
          configurable: true,
          writable: true,
        })
        taken.add(compare(input))
      }
    }
    expect(taken).toEqual(new Set([true, false]))
  })

  test("has the same value as by the schema, for generated inputs", () => {
    let taken = 0
    const change = fc.tuple(fc.constantFrom(...fields), value, fc.boolean())
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const input: Record<string, unknown> = { ...usual }
        for (const [field, odd, removes] of changes) {
          if (removes) delete input[field]
          else
            Object.defineProperty(input, field, {
              value: odd,
              enumerable: true,
              configurable: true,
              writable: true,
            })
        }
        if (compare(input)) taken++
      }),
      { numRuns: 3_000 },
    )
    expect(taken).toBeGreaterThan(100)
  })
})
