import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { colouredJson, escapeHtml, prettyJson, prose } from "../../src/reference/html.ts"

const withoutTags = (html: string): string =>
  html
    .replace(/<\/?(?:span|code)[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")

describe("HTML", () => {
  test("never lets text become markup", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"]/)
        expect(withoutTags(escapeHtml(text))).toBe(text)
      }),
    )
    expect(prose("<script> `<b>`")).toBe("&lt;script&gt; <code>&lt;b&gt;</code>")
  })

  test("marks the contract's own words in prose", () => {
    expect(prose("Send the revision as ifRevision, and webhook-id; webhook-* is ours.")).toBe(
      "Send the revision as <code>ifRevision</code>, and <code>webhook-id</code>; webhook-* is ours.",
    )
    expect(prose("Start it with TIMER_CLOCK=manual.")).toBe("Start it with <code>TIMER_CLOCK=manual</code>.")
  })

  test("shows JSON that is still the same JSON, in colours and on short lines", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = prettyJson(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(withoutTags(colouredJson(text))).toBe(text)
      }),
    )
    expect(colouredJson('{"a<": "<b>"}')).toBe(
      '{<span class="k">&quot;a&lt;&quot;</span>: <span class="s">&quot;&lt;b&gt;&quot;</span>}',
    )
    expect(prettyJson({ a: { b: 1 }, c: [] })).toBe('{\n  "a": { "b": 1 },\n  "c": []\n}')
  })
})
