// The errors of a request are limited, so a large wrong request has neither a slow nor a large answer.
import { expect, test } from "bun:test"
import { refused, succeeded } from "./answers.ts"
import { withService } from "./ServiceFixture.ts"

const valid = { namespace: "n", timerId: "good", delay: "1h", callbackUrl: "http://localhost/" }
const wrong = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${"field".repeat(10)}${at}`, at]))

test("a request lists its first 20 errors and says that there may be more", () =>
  withService({}, async ({ call }) => {
    const { errors, detail } = refused(await call("create", { ...valid, ...wrong }), "invalidRequest")
    expect(errors).toHaveLength(20)
    expect(detail).toEndWith("(and at least 19 more)")
  }))

test("the timers of createMany share 20 errors, and each further one has its first error", () =>
  withService({}, async ({ call }) => {
    const timers = [{ timerId: "" }, ...new Array(998).fill({ ...valid, ...wrong }), valid]
    const answered = await call("createMany", { timers })
    const { results } = succeeded("createMany", answered)
    const errors = results.map((item) => ("problem" in item ? (item.problem.errors?.length ?? 0) : 0))
    expect(errors.slice(0, 3)).toEqual([2, 18, 1])
    expect(errors.slice(2, -1)).toEqual(new Array(997).fill(1))
    expect(results[500]).toMatchObject({
      problem: { code: "invalidRequest", detail: expect.stringContaining("(there may be more errors)") },
    })
    expect(results.at(-1)).toMatchObject({ result: "created" })
    expect(answered.text.length).toBeLessThan(1_500_000)
  }))
