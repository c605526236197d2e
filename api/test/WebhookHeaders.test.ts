import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { defaultLimits } from "../src/Limits.ts"
import { makeWebhookHeaders } from "../src/WebhookHeaders.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const WebhookHeaders = makeWebhookHeaders(defaultLimits)

describe("webhook headers", () => {
  test("can have everything that HTTP allows", () => {
    const headers = {
      authorization: "Bearer abc",
      "X-A_b.c~1": "a b\tc",
      empty: "",
      "content-type": "text/plain",
      constructor: "x",
    }
    expect(decoded(WebhookHeaders, headers)).toEqual(headers)
  })

  test("are at most 32", () => {
    const headers = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, "a"]))
    expect(refusalsOf(WebhookHeaders, headers(32))).toEqual([])
    expect(refusalsOf(WebhookHeaders, headers(33))).toEqual([
      " must have at most 32 headers (the service's setting TIMER_LIMIT_HEADERS)",
    ])
  })

  test("are at most 8 KiB of names and values in all", () => {
    expect(refusalsOf(WebhookHeaders, { "x-a": "a".repeat(8189) })).toEqual([])
    expect(refusalsOf(WebhookHeaders, { "x-a": "a".repeat(8190) })).toEqual([
      " must be at most 8192 bytes of names and values in total (the service's setting TIMER_LIMIT_HEADER_BYTES)",
    ])
    expect(refusalsOf(WebhookHeaders, { "x-a": "a".repeat(4096), "x-b": "a".repeat(4096) })).toHaveLength(1)
  })

  test("cannot set headers of the connection or the service, in any case", () => {
    const names = [
      "connection",
      "keep-alive",
      "proxy-authorization",
      "proxy-connection",
      "proxy-x",
      "te",
      "trailer",
      "transfer-encoding",
      "upgrade",
      "host",
      "content-length",
      "webhook-id",
      "webhook-signature",
      "webhook-x",
      "punctual-attempt",
      "punctual-x",
      "traceparent",
    ]
    for (const name of names.flatMap((name) => [
      name,
      name.toUpperCase(),
      `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
    ])) {
      expect(refusalsOf(WebhookHeaders, { [name]: "x" })).toEqual([
        `/${name} cannot be set: the service or the connection sets it`,
      ])
    }
  })

  test("have HTTP tokens as names", () => {
    for (const name of ["", "a b", "a:", "a\r\nb", "é", "a\0", "(a)", "a,b", "a\tb"]) {
      expect([name, refusalsOf(WebhookHeaders, { [name]: "x" }).join()]).toEqual([
        name,
        expect.stringContaining("must be an HTTP header name"),
      ])
    }
  })

  test("never contain a line break or any other control character", () => {
    const control = fc.constantFrom(
      "\r",
      "\n",
      "\r\n",
      "\0",
      "\u0001",
      "\u000b",
      "\u007f",
      "\u0085",
      "\u2028",
      "é",
      "\ud800",
    )
    const filler = fc.string({ maxLength: 20 })
    fc.assert(
      fc.property(filler, control, filler, (before, character, after) => {
        expect(refusalsOf(WebhookHeaders, { "x-a": before + character + after })).toEqual([
          "/x-a must be visible ASCII, with blanks only inside",
        ])
      }),
    )
    for (const value of [" a", "a ", "\ta", " "])
      expect(refusalsOf(WebhookHeaders, { "x-a": value })).toHaveLength(1)
  })

  test("do not repeat a name in another case", () => {
    expect(refusalsOf(WebhookHeaders, { "X-A": "1", "x-a": "2" })).toEqual([
      "/x-a is given twice: header names do not differ by case",
    ])
  })

  test("refuse __proto__ and change no prototype", () => {
    const body: unknown = JSON.parse('{"__proto__": "x", "x-a": "b"}')
    expect(refusalsOf(WebhookHeaders, body)).toEqual([
      "/__proto__ cannot be set: the service or the connection sets it",
    ])
    expect(refusalsOf(WebhookHeaders, JSON.parse('{"__proto__": {"polluted": "x"}}'))).toEqual([
      "/__proto__ must be text",
    ])
    expect("polluted" in {}).toBe(false)
  })

  test("must be an object of text", () => {
    expect(refusalsOf(WebhookHeaders, { a: 5, b: null })).toEqual(["/a must be text", "/b must be text"])
    for (const body of [5, "a: b", [["a", "b"]]])
      expect(refusalsOf(WebhookHeaders, body)).toEqual([
        " must be an object of header names and their values",
      ])
  })
})
