// Reads what the test tools of other languages report: JUnit files (pytest, Maven) and the JSON lines of `go test`.
import type { Result } from "./judge.ts"
import { readTestReport } from "./testReport.ts"

export interface ClientCase {
  readonly name: string
  readonly outcome: "passed" | "failed" | "skipped"
  /** Why it failed or was skipped. */
  readonly message: string
}

export const casesOfJunit = (xml: string): ReadonlyArray<ClientCase> =>
  readTestReport(xml).cases.map(({ name, outcome, message }) => ({ name, outcome, message }))

interface GoEvent {
  readonly Action?: string
  readonly Package?: string
  readonly Test?: string
  readonly Output?: string
}

const goOutcomes: Readonly<Record<string, ClientCase["outcome"]>> = {
  pass: "passed",
  fail: "failed",
  skip: "skipped",
}

/** The tests themselves, and packages that fail without a failed test, for example because they do not compile. */
export const casesOfGo = (lines: string): ReadonlyArray<ClientCase> => {
  const outputs = new Map<string, string>()
  const cases: Array<ClientCase> = []
  const failedPackages: Array<string> = []
  for (const line of lines.split("\n")) {
    const event = goEvent(line)
    if (event === undefined) continue
    const name = event.Test === undefined ? `${event.Package}` : `${event.Package} ${event.Test}`
    if (event.Action === "output") outputs.set(name, `${outputs.get(name) ?? ""}${event.Output ?? ""}`)
    const outcome = goOutcomes[event.Action ?? ""]
    if (outcome === undefined) continue
    if (event.Test !== undefined) cases.push({ name, outcome, message: outputs.get(name) ?? "" })
    else if (outcome === "failed") failedPackages.push(name)
  }
  const failedTests = cases.filter(({ outcome }) => outcome === "failed")
  const unexplained = failedPackages.filter(
    (name) => !failedTests.some((failed) => failed.name.startsWith(`${name} `)),
  )
  return [
    ...cases,
    ...unexplained.map((name) => ({ name, outcome: "failed" as const, message: outputs.get(name) ?? "" })),
  ]
}

const goEvent = (line: string): GoEvent | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line) as GoEvent
  } catch {
    // A program under test printed a line of its own.
    return undefined
  }
}

/** A run without any test, a skip without a reason and an exit code that no failed test explains are failures. */
export const resultOf = (
  title: string,
  cases: ReadonlyArray<ClientCase>,
  ended: { readonly isGood: boolean; readonly how: string },
): Result => {
  const skipped = cases.filter(({ outcome }) => outcome === "skipped")
  const failures = [
    ...cases.filter(({ outcome }) => outcome === "failed"),
    ...skipped.flatMap(({ name, message }) =>
      message.trim() === "" ? [{ name, message: "skipped without a reason" }] : [],
    ),
  ].map(({ name, message }) => ({ name, message }))
  const passed = cases.filter(({ outcome }) => outcome === "passed").length
  if (passed === 0 && failures.length === 0)
    failures.push({ name: title, message: `no test ran: ${ended.how}` })
  if (!ended.isGood && failures.length === 0)
    failures.push({ name: title, message: `no test failed, but the run itself failed: ${ended.how}` })
  return {
    title,
    passed,
    failures,
    skips: skipped.flatMap(({ name, message }) =>
      message.trim() === ""
        ? []
        : [{ name: `${name} (skipped: ${message.trim().split("\n").at(-1)})`, reason: message }],
    ),
    secondsByFile: new Map(),
  }
}
