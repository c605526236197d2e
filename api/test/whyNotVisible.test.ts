import { describe, expect, test } from "bun:test"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { DeleteTimer } from "../src/DeleteTimer.ts"
import { GetTimer } from "../src/GetTimer.ts"
import { defaultLimits } from "../src/Limits.ts"
import { CountTimers } from "../src/ListTimers.ts"
import { decodeScheduleTimer } from "../src/ScheduleTimer.ts"
import { makeUpdateTimer } from "../src/UpdateTimer.ts"
import { visiblePattern, whyNotVisible } from "../src/whyNotVisible.ts"
import { refusalsOf } from "./refusals.ts"

const create = makeCreateTimer(defaultLimits)
const update = makeUpdateTimer(defaultLimits)
const body = { namespace: "shop", delay: "1s", target: { type: "event" } }

const hidden: ReadonlyArray<readonly [string, string]> = [
  ["\u00ad", "U+00AD"],
  ["\u200b", "U+200B"],
  ["\u200d", "U+200D"],
  ["\u2028", "U+2028"],
  ["\u2029", "U+2029"],
  ["\u202a", "U+202A"],
  ["\u202e", "U+202E"],
  ["\u2060", "U+2060"],
  ["\u2066", "U+2066"],
  ["\u2069", "U+2069"],
  ["\u3164", "U+3164"],
  ["\ufe0f", "U+FE0F"],
  ["\ufeff", "U+FEFF"],
  ["\u{e0041}", "U+E0041"],
]

describe("an id, a correlation id or a tag of a new timer", () => {
  test("must not contain invisible, bidi or formatting characters, and the refusal names the code point", () => {
    for (const [character, name] of hidden) {
      const text = `order${character}1`
      const why = `must not contain control, invisible or formatting characters: remove ${name}`
      expect(refusalsOf(create, { ...body, timerId: text })).toEqual([`/timerId ${why}`])
      expect(refusalsOf(create, { ...body, correlationId: text })).toEqual([`/correlationId ${why}`])
      expect(refusalsOf(create, { ...body, tags: ["a", text] })).toEqual([`/tags/1 ${why}`])
      const key = { namespace: "shop", timerId: "a" }
      expect(refusalsOf(update, { ...key, correlationId: text })).toEqual([`/correlationId ${why}`])
      expect(refusalsOf(update, { ...key, tags: [text] })).toEqual([`/tags/0 ${why}`])
      const schedule = decodeScheduleTimer({
        tenantId: "shop",
        serviceCallId: text,
        dueAt: "2030-01-01T00:00Z",
      })
      expect(schedule).toMatchObject({ failure: expect.stringContaining(name) })
    }
  })

  test("must not consist of spaces only", () => {
    for (const blank of [" ", "\u00a0\u3000", "\u2800", "   "]) {
      expect(refusalsOf(create, { ...body, timerId: blank })).toEqual([
        "/timerId must not consist of spaces only",
      ])
      expect(refusalsOf(create, { ...body, tags: [blank] })).toEqual([
        "/tags/0 must not consist of spaces only",
      ])
    }
  })

  test("may have any visible text", () => {
    for (const text of ["order 1", "größe", "日本", "ελλάδα", "نص", "😀", "\u00a0a"]) {
      expect([text, whyNotVisible(text)]).toEqual([text, undefined])
      expect(refusalsOf(create, { ...body, timerId: text, correlationId: text, tags: [text] })).toEqual([])
    }
  })
})

test("a stored id with such characters can still be read, changed, cancelled and searched", () => {
  for (const [character] of hidden) {
    const key = { namespace: "shop", timerId: `order${character}1` }
    for (const schema of [GetTimer, DeleteTimer]) expect(refusalsOf(schema, key)).toEqual([])
    expect(refusalsOf(update, { ...key, delay: "1s" })).toEqual([])
    const filter = { namespace: "shop", idPrefix: character, correlationId: character, tag: character }
    for (const name of ["idPrefix", "correlationId", "tag"] as const)
      expect(refusalsOf(CountTimers, { namespace: "shop", [name]: filter[name] })).toEqual([])
  }
})

test("the pattern of the document and the rule agree on every character up to U+FFFF", () => {
  const pattern = new RegExp(visiblePattern, "u")
  const differing: Array<string> = []
  for (let code = 0; code <= 0xffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    for (const text of [String.fromCharCode(code), `a${String.fromCharCode(code)}`])
      if (pattern.test(text) !== (whyNotVisible(text) === undefined)) differing.push(code.toString(16))
  }
  expect(differing).toEqual([])
})
