// Bodies of any size become the same input, payloads stay bytes, and large bodies are read in slices.
import { describe, expect, spyOn, test } from "bun:test"
import fc from "fast-check"
import { type PayloadPlace, RequestText } from "../src/RequestText.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const read = async (text: string | Uint8Array, payloads?: PayloadPlace) => {
  let pauses = 0
  const pause = async () => {
    pauses++
  }
  const bytes = typeof text === "string" ? encoder.encode(text) : text
  const answer = await new RequestText({ payloads, itemsMax: 1_000, pause }).read(bytes)
  return { answer, pauses }
}

const inputOf = async (text: string, payloads?: PayloadPlace): Promise<unknown> => {
  const { answer } = await read(text, payloads)
  if ("problem" in answer) throw new Error(answer.problem.detail)
  return answer.input
}

const problemOf = async (text: string | Uint8Array, payloads?: PayloadPlace) => {
  const { answer, pauses } = await read(text, payloads)
  if (!("problem" in answer)) throw new Error("the body was read")
  return { code: answer.problem.code, detail: answer.problem.detail, pauses }
}

/** White space that makes a body large and changes nothing. */
const padding = " ".repeat(20_000)
const shown = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, part) => (part instanceof Uint8Array ? `bytes ${decoder.decode(part)}` : part)),
  )

describe("payloads of a large body", () => {
  test("are cut out as bytes and never become text", async () => {
    const payload = JSON.stringify("x".repeat(15_000))
    const timers = Array.from({ length: 100 }, (_, index) => `{"timerId":"t${index}","payload":${payload}}`)
    // The spy only records: JSON is parsed as usual.
    const parse = spyOn(JSON, "parse")
    const input = await inputOf(`{"timers":[${timers.join(",")}]}`, { inItemsOf: "timers" })
    const parsedChars = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
    parse.mockRestore()
    expect(parsedChars).toBeLessThan(10_000)
    const items = (input as { readonly timers: ReadonlyArray<{ readonly payload: Uint8Array }> }).timers
    expect(items.length).toBe(100)
    expect(items.every((item) => decoder.decode(item.payload) === payload)).toBe(true)
  })
})

describe("small and large bodies", () => {
  const key = fc.constantFrom('"payload"', '"p\\u0061yload"', '"timers"', '"t\\u0069mers"', '"a"')
  const value = fc.oneof(fc.json({ maxDepth: 3 }), fc.constantFrom("null", " null ", '"ü€🕰"', "1.0e1"))
  const object = fc
    .array(fc.tuple(key, value), { maxLength: 5 })
    .map((members) => `{${members.map(([name, text]) => `${name}: ${text}`)}}`)
  const list = fc.array(fc.oneof(object, value)).map((items) => `[${items}]`)
  const body = fc.oneof(
    object,
    value,
    fc.tuple(object, list).map(([other, timers]) => `{"timers":${timers},"a":${other}}`),
    fc.tuple(list, list).map(([first, last]) => `{"timers":${first},"timers" : ${last}}`),
  )
  for (const place of [undefined, {}, { nullClears: true }, { inItemsOf: "timers" }] as const) {
    test(`become the same input, payloads: ${JSON.stringify(place)}`, async () => {
      await fc.assert(
        fc.asyncProperty(body, async (text) => {
          fc.pre(text.isWellFormed())
          const small = await inputOf(text, place)
          expect(shown(await inputOf(padding + text, place))).toEqual(shown(small))
          if (text.startsWith("{")) {
            const inside = `{${padding}${text.slice(1)}`
            expect(shown(await inputOf(inside, place))).toEqual(shown(small))
          }
        }),
        { numRuns: 200 },
      )
    })
  }

  test("are refused with the same code", async () => {
    for (const text of ['{"a":1', "[1,]", "", '{"a":"\u0001"}', "nul"]) {
      expect((await problemOf(text)).code).toBe("invalidJson")
      expect((await problemOf(padding + text)).code).toBe("invalidJson")
    }
    const latin = Buffer.from(`"${"\u00e9".repeat(10)}"`, "latin1")
    expect((await problemOf(latin)).detail).toContain("UTF-8")
    expect((await problemOf(Buffer.concat([Buffer.from(padding), latin]))).detail).toContain("UTF-8")
  })
})

describe("a large body", () => {
  const item = (index: number, payload: string) => `{"timerId":"t-${index}","payload":${payload}}`
  const many = (count: number, payload: string) =>
    `{"timers":[${Array.from({ length: count }, (_, index) => item(index, payload)).join(",")}]}`

  test("is read in slices, and payloads are copies of their bytes", async () => {
    const payload = JSON.stringify("x".repeat(15_000))
    const text = many(1_000, payload)
    const { answer, pauses } = await read(text, { inItemsOf: "timers" })
    if ("problem" in answer) throw new Error(answer.problem.detail)
    const { timers } = answer.input as { timers: ReadonlyArray<{ timerId: string; payload: Uint8Array }> }
    expect(timers.map(({ timerId }) => timerId)).toEqual(Array.from({ length: 1_000 }, (_, at) => `t-${at}`))
    for (const { payload: bytes } of timers) {
      expect(decoder.decode(bytes)).toBe(payload)
      expect(bytes.buffer.byteLength).toBe(payload.length)
    }
    // 115 slices of the scan, and at most two items are parsed at once.
    expect(pauses).toBeGreaterThan(600)
  })

  test("with more items than allowed has none parsed", async () => {
    const { answer, pauses } = await read(many(1_001, JSON.stringify("x".repeat(1_000))), {
      inItemsOf: "timers",
    })
    expect(answer).toEqual({ input: { timers: new Array(1_001).fill(null) } })
    expect(pauses).toBeLessThan(12)
  })

  const attacks: Record<string, [string, string]> = {
    "a million unknown fields": [
      `{${Array.from({ length: 1_200_000 }, (_, at) => `"f${at}":1`).join(",")}}`,
      "at most 200000 fields and elements in total",
    ],
    "payloads nested deeply": [
      many(1_000, "[".repeat(7_900) + "]".repeat(7_900)),
      "must not be nested deeper than 64 levels",
    ],
    "millions of empty objects": [
      `{"timers":[${new Array(5_000_000).fill("{}").join(",")}]}`,
      "at most 200000 fields and elements in total",
    ],
    "items with thousands of waits": [
      `{"timers":[${new Array(500).fill(`{"retryPolicy":{"waits":[${new Array(2_500).fill('"1s"')}]}}`)}]}`,
      "/timers/0 must have at most 2000 fields and elements besides its payload",
    ],
    "one huge text": [
      `{"timers":"${"x".repeat(15_000_000)}"}`,
      "the body must have at most 524288 bytes besides its payload",
    ],
    "brackets only": ["[".repeat(15_000_000), "must not be nested deeper than 64 levels"],
  }
  for (const [name, [text, detail]] of Object.entries(attacks)) {
    test(`is refused before anything is parsed: ${name}`, async () => {
      const problem = await problemOf(text, { inItemsOf: "timers" })
      expect(problem.code).toBe("invalidRequest")
      expect(problem.detail).toContain(detail)
      // No more than the scan of the whole body.
      expect(problem.pauses).toBeLessThanOrEqual(text.length / (128 * 1024))
    })
  }
})
