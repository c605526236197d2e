// What counts as passed, failed and skipped, and how the end of a run reports it.
import { describe, expect, test } from "bun:test"
import { judge } from "../judge.ts"
import { summaryOf } from "../summary.ts"
import { readTestReport } from "../testReport.ts"

const well = { isGood: true, how: "it ended with code 0" }
const badly = { isGood: false, how: "it ended with code 1" }

const suite = (file: string, cases: string, seconds = 1) =>
  `<testsuite name="${file}" file="${file}" tests="1" time="${seconds}" hostname="vm">
    <testsuite name="a group" file="${file}" line="1" time="0.5">${cases.replaceAll("FILE", file)}</testsuite>
  </testsuite>`

const passing = `<testcase name="ok" classname="" time="0.1" file="FILE" line="2" assertions="1" />`
const failing = `<testcase name="is &lt;b&gt; &amp; &quot;c&quot;" classname="inner &gt; outer" file="FILE" line="3">
  <failure type="AssertionError" message="Expected: 2&#10;Received: 1">at FILE:3</failure></testcase>`
const skipping = (name: string, classname = "") =>
  `<testcase name="${name}" classname="${classname}" time="0" file="FILE"><skipped /></testcase>`

const judged = (xml: string, files: ReadonlyArray<string>, ended = well, namePattern?: string) =>
  judge({ title: "fast", files, namePattern }, readTestReport(xml), ended)

describe("a run", () => {
  test("counts passes and failures, and names failures from the outer group to the test", () => {
    const { passed, failures, secondsByFile } = judged(
      suite("a.test.ts", passing + failing, 2.5) + suite("b.test.ts", passing),
      ["a.test.ts", "b.test.ts"],
      badly,
    )
    expect([passed, failures]).toEqual([
      2,
      [
        {
          name: 'a.test.ts: outer > inner > is <b> & "c"',
          message: "Expected: 2\nReceived: 1",
          file: "a.test.ts",
        },
      ],
    ])
    expect([...secondsByFile]).toEqual([
      ["a.test.ts", 2.5],
      ["b.test.ts", 1],
    ])
  })

  test("counts a file without any result as failed, even if the runner reports success", () => {
    const { passed, failures } = judged(suite("a.test.ts", passing), ["a.test.ts", "broken.test.ts"])
    expect([passed, failures.map(({ name }) => name)]).toEqual([1, ["broken.test.ts"]])
    expect(judged("", ["a.test.ts", "b.test.ts"], well).failures).toHaveLength(2)
  })

  test("that ends badly without a failed test has failed", () => {
    expect(judged(suite("a.test.ts", passing), ["a.test.ts"], badly).failures).toEqual([
      { name: "fast", message: "no test failed, but the run itself failed: it ended with code 1" },
    ])
  })

  test("accepts a skip that has a reason, its own or that of a group around it, and no other", () => {
    const xml = suite(
      "a.test.ts",
      passing +
        skipping("needs a disk (skipped: no disk)") +
        skipping("fires", "on a broker (skipped: no nats-server (see PATH))") +
        skipping("later") +
        skipping("empty (skipped: )"),
    )
    const { passed, failures, skips } = judged(xml, ["a.test.ts"])
    expect(passed).toBe(1)
    expect(skips.map(({ reason }) => reason)).toEqual(["no disk", "no nats-server (see PATH)"])
    expect(failures.map(({ name }) => name)).toEqual(["a.test.ts: later", "a.test.ts: empty (skipped: )"])
  })

  test("of tests by name does not count or blame the others, and may find none in its group", () => {
    const xml = suite("a.test.ts", passing + skipping("another"))
    expect(judged(xml, ["a.test.ts"], well, "ok")).toMatchObject({ passed: 1, failures: [], skips: [] })
    expect(judged(xml, ["a.test.ts"], badly, "ok").failures).toHaveLength(1)
    const none = suite("a.test.ts", skipping("another"))
    expect(judged(none, ["a.test.ts"], badly, "ok")).toMatchObject({ passed: 0, failures: [] })
    expect(judged("", ["a.test.ts"], badly, "ok").failures).toHaveLength(1)
  })
})

describe("the end of the output", () => {
  test("shows the ten slowest files, the skips, the failures with their group, and the count last", () => {
    const files = Array.from({ length: 12 }, (_, index) => `f${index}.test.ts`)
    const xml = files.map((file, index) => suite(file, passing, index)).join("")
    const fast = judged(xml, files)
    const servers = judged(
      suite("s.test.ts", failing + skipping("n (skipped: no disk)"), 99),
      ["s.test.ts"],
      badly,
    )
    const lines = summaryOf([fast, { ...servers, title: "servers" }]).split("\n")
    expect(lines.filter((line) => / s {2}/.test(line))).toEqual([
      "   99.0 s  s.test.ts (servers)",
      ...[11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `${n.toFixed(1).padStart(7)} s  f${n}.test.ts (fast)`),
    ])
    expect(lines).toContain("[servers] s.test.ts: n (skipped: no disk)")
    expect(lines).toContain('[servers] s.test.ts: outer > inner > is <b> & "c"')
    expect(lines).toContain("    Expected: 2")
    expect(lines.at(-1)).toBe("12 passed, 1 failed")
  })
})
