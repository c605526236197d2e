import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { CreateManyTimersAnswer, makeCreateManyTimers } from "../src/CreateManyTimers.ts"
import { invalidField } from "../src/invalidRequest.ts"
import { defaultLimits } from "../src/Limits.ts"
import { toProblemDocument } from "../src/Problem.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const CreateManyTimers = makeCreateManyTimers(defaultLimits)
const message = "/timers must be an array of 1 to 1000 timers"

describe("a createMany", () => {
  test("takes its items as they are, so that a bad item does not affect the rest", () => {
    const timers = [{ namespace: "a" }, null, 5, "junk", { unknown: [[[]]] }]
    expect(decoded(CreateManyTimers, { timers })).toEqual({ timers })
  })

  test("has 1 to 1,000 items", () => {
    expect(refusalsOf(CreateManyTimers, { timers: Array(1000).fill({}) })).toEqual([])
    for (const timers of [[], Array(1001).fill({}), {}, null])
      expect(refusalsOf(CreateManyTimers, { timers })).toEqual([expect.stringContaining(message)])
    expect(refusalsOf(CreateManyTimers, {})).toEqual(["/timers is required"])
    expect(refusalsOf(CreateManyTimers, [])).toEqual([" must be a JSON object"])
  })

  test("answers each item with its result or its problem", () => {
    const answer = {
      results: [
        { result: "created" as const, timerId: "a", revision: 1, fireId: "0190" },
        { problem: toProblemDocument(invalidField("/namespace", "is required")) },
      ],
    }
    const encoded = Schema.encodeSync(CreateManyTimersAnswer)(answer)
    expect(JSON.parse(JSON.stringify(encoded))).toMatchObject({
      results: [{ result: "created" }, { problem: { code: "invalidRequest", status: 400 } }],
    })
    expect(Schema.decodeUnknownSync(CreateManyTimersAnswer)(encoded)).toEqual(answer)
  })
})
