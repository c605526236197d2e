// What counts as passed, failed and skipped in the reports of Go, pytest and Maven.
import { describe, expect, test } from "bun:test"
import { isAtLeast } from "../clientChecks.ts"
import { casesOfGo, casesOfJunit, resultOf } from "../clientReport.ts"

const well = { isGood: true, how: "it ended with code 0" }
const badly = { isGood: false, how: "it ended with code 1" }

const goLines = (...events: ReadonlyArray<object>): string =>
  events.map((event) => JSON.stringify({ Package: "p", ...event })).join("\n")

describe("the lines of go test -json", () => {
  test("give passed, failed and skipped tests, with what they printed", () => {
    const cases = casesOfGo(
      goLines(
        { Action: "run", Test: "TestA" },
        { Action: "pass", Test: "TestA" },
        { Action: "output", Test: "TestB", Output: "b_test.go:1: want 2, got 1\n" },
        { Action: "fail", Test: "TestB" },
        { Action: "output", Test: "TestC", Output: "c_test.go:1: there is no server\n" },
        { Action: "skip", Test: "TestC" },
        { Action: "fail" },
      ),
    )
    expect(cases).toEqual([
      { name: "p TestA", outcome: "passed", message: "" },
      { name: "p TestB", outcome: "failed", message: "b_test.go:1: want 2, got 1\n" },
      { name: "p TestC", outcome: "skipped", message: "c_test.go:1: there is no server\n" },
    ])
  })

  test("a package that does not compile is a failure with the compiler's words", () => {
    const cases = casesOfGo(
      goLines(
        { Action: "output", Output: "undefined: x\n" },
        { Action: "fail" },
        { Action: "pass", Test: "T" },
      ),
    )
    expect(cases.filter(({ outcome }) => outcome === "failed")).toEqual([
      { name: "p", outcome: "failed", message: "undefined: x\n" },
    ])
  })

  test("lines of other programs are ignored", () => {
    expect(casesOfGo("hello\n{not json\n")).toEqual([])
  })
})

test("JUnit files give failures and the reasons of skips, whatever the test printed", () => {
  const xml = `<testsuite name="s" tests="3">
    <testcase classname="a.B" name="good"><system-out>a line with <failure in it</system-out></testcase>
    <testcase classname="a.B" name="bad"><failure message="want 2" type="x">trace</failure></testcase>
    <testcase classname="a.B" name="left out"><skipped message="there is no server"/></testcase></testsuite>`
  expect(casesOfJunit(xml)).toEqual([
    { name: "a.B > good", outcome: "passed", message: "" },
    { name: "a.B > bad", outcome: "failed", message: "want 2" },
    { name: "a.B > left out", outcome: "skipped", message: "there is no server" },
  ])
})

describe("a result", () => {
  const passed = { name: "a", outcome: "passed", message: "" } as const
  const skipped = { name: "s", outcome: "skipped", message: "no server" } as const

  test("counts tests, and names skips with their reasons", () => {
    expect(resultOf("Go", [passed, skipped], well)).toMatchObject({
      passed: 1,
      failures: [],
      skips: [{ name: "s (skipped: no server)" }],
    })
  })

  test("is a failure if nothing ran, if a skip has no reason, or if the exit code says so", () => {
    expect(resultOf("Go", [], well).failures.length).toBe(1)
    expect(resultOf("Go", [passed, { ...skipped, message: "" }], well).failures.length).toBe(1)
    expect(resultOf("Go", [passed], badly).failures.length).toBe(1)
  })
})

test("versions are compared by numbers", () => {
  expect(isAtLeast("1.23.1", "1.23")).toBe(true)
  expect(isAtLeast("1.9", "1.23")).toBe(false)
  expect(isAtLeast("17", "17.0.1")).toBe(false)
  expect(isAtLeast(undefined, "1")).toBe(false)
})
