// Which failures a second run may forgive, and which not.
import { describe, expect, test } from "bun:test"
import type { Result } from "../judge.ts"
import { withSecondRuns } from "../secondRuns.ts"
import { summaryOf } from "../summary.ts"

const run = (title: string, file: string, ...messages: ReadonlyArray<string>): Result => ({
  title,
  passed: 2,
  failures: messages.map((message, at) => ({ name: `${file}: test ${at}`, message, file })),
  skips: [],
  secondsByFile: new Map([[file, 1]]),
})

/** The results after the second runs, and the files that ran again. `failsAgain` names the files that fail twice. */
const repeated = async (results: ReadonlyArray<Result>, failsAgain: ReadonlyArray<string> = []) => {
  const again: Array<string> = []
  const after = await withSecondRuns(results, async (group, file) => {
    again.push(file)
    return failsAgain.includes(file) ? run(group, file, "once more") : { ...run(group, file), passed: 3 }
  })
  return { again, after }
}

describe("a second run", () => {
  test("of a file that passes alone counts, and the report names what failed first", async () => {
    const { again, after } = await repeated([
      run("clusters", "a.test.ts", "too late"),
      run("pages", "b.test.ts"),
    ])
    expect(again).toEqual(["a.test.ts"])
    expect(after.map(({ passed, failures }) => [passed, failures.length])).toEqual([
      [3, 0],
      [2, 0],
    ])
    const lines = summaryOf(after).split("\n")
    expect(lines).toContain("[clusters] a.test.ts: test 0")
    expect(lines).toContain("    too late")
    expect(lines.at(-1)).toBe("5 passed, 0 failed")
  })

  test("of a file that fails again changes nothing", async () => {
    const first = [run("processes", "a.test.ts", "too late")]
    expect((await repeated(first, ["a.test.ts"])).after).toEqual(first)
  })

  test("never forgives a broken promise, also beside another failure", async () => {
    const first = [run("clusters", "a.test.ts", "too late", 'Received: "broken promise, noLoss: shop/t-1"')]
    expect(await repeated(first)).toEqual({ again: [], after: first })
  })

  test("never forgives a random case that failed", async () => {
    const first = [run("servers", "a.test.ts", "Property failed after 53 tests\n{ seed: 870429523 }")]
    expect(await repeated(first)).toEqual({ again: [], after: first })
  })

  test("is not for tests that start no program, nor for static checks", async () => {
    const first = [run("fast", "a.test.ts", "wrong"), run("static", "types", "wrong")]
    expect(await repeated(first)).toEqual({ again: [], after: first })
  })

  test("is not for a run that failed as a whole", async () => {
    const first = [{ ...run("servers", "a.test.ts"), failures: [{ name: "servers", message: "it crashed" }] }]
    expect(await repeated(first)).toEqual({ again: [], after: first })
  })

  test("does not happen if more than three files failed", async () => {
    const first = ["a", "b", "c", "d"].map((name) => run("pages", name, "too late"))
    expect(await repeated(first)).toEqual({ again: [], after: first })
    expect((await repeated(first.slice(1))).again).toEqual(["b", "c", "d"])
  })
})
