import { describe, expect, test } from "bun:test"
import { Result, Schema } from "effect"
import { makeCreateTimer } from "../src/CreateTimer.ts"
import { invalidField, invalidRequest } from "../src/invalidRequest.ts"
import { defaultLimits } from "../src/Limits.ts"
import { toProblemDocument } from "../src/Problem.ts"
import { requestParseOptions } from "../src/requestParseOptions.ts"

const decode = Schema.decodeUnknownResult(makeCreateTimer(defaultLimits), requestParseOptions)

const problemOf = (body: unknown, at?: string) => {
  const result = decode(body)
  if (Result.isSuccess(result)) throw new Error("the body was accepted")
  return invalidRequest(result.failure.issue, at)
}

describe("an invalid request", () => {
  test("says in one sentence what is wrong first, and how many more there are", () => {
    expect(problemOf({ namespace: "a", timerId: "" }).detail).toBe(
      "/timerId must be text of 1 to 255 bytes of UTF-8 without control characters",
    )
    expect(problemOf({ timerId: "" }).detail).toEndWith("(and 1 more)")
    expect(problemOf([]).detail).toBe("the body must be a JSON object")
  })

  test("points into the body from the position of the decoded part", () => {
    expect(problemOf({}, "/timers/3").errors).toEqual([
      { pointer: "/timers/3/namespace", detail: "is required" },
    ])
    expect(problemOf(null, "/timers/3").errors).toEqual([
      { pointer: "/timers/3", detail: "must be a JSON object" },
    ])
  })

  test("is small, however large and wrong the body is", () => {
    const body = Object.fromEntries(
      Array.from({ length: 5000 }, (_, at) => [`${"k".repeat(500)}${at}`, "v".repeat(1000)]),
    )
    const problem = problemOf(body)
    expect(problem.errors).toHaveLength(20)
    expect(problem.detail).toEndWith("(and at least 19 more)")
    for (const { pointer, detail } of problem.errors) {
      expect(pointer.length).toBeLessThanOrEqual(102)
      expect(detail.length).toBeLessThanOrEqual(300)
    }
    expect(problem.detail.length).toBeLessThanOrEqual(300)
    expect(JSON.stringify(toProblemDocument(problem)).length).toBeLessThan(10_000)
  })

  test("never repeats a value", () => {
    const secret = "s3cr3t-value"
    const body = {
      namespace: `${secret} `,
      timerId: `${secret}\n`,
      executeAt: secret,
      delay: secret,
      callbackUrl: secret,
      target: { type: secret },
      retryPolicy: secret,
      onExisting: secret,
      payload: secret,
      unknown: secret,
    }
    expect(JSON.stringify(toProblemDocument(problemOf(body)))).not.toContain(secret)
  })

  test("has pointers that are well-formed text", () => {
    const [error] = problemOf({ "\ud800~/": 1 }).errors
    expect(error?.pointer).toBe("/\ufffd~0~1")
  })

  test("can be made for a field that only the server can check", () => {
    const problem = invalidField("/executeAt", "must be at most 10 years ahead")
    expect(toProblemDocument(problem)).toMatchObject({
      code: "invalidRequest",
      detail: "/executeAt must be at most 10 years ahead",
      errors: [{ pointer: "/executeAt", detail: "must be at most 10 years ahead" }],
    })
  })
})
