// Runs `bun test` over a list of files, and checks its report.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Judged, judge, type Result } from "./judge.ts"
import { installed, runProgram } from "./runProgram.ts"
import { longFiles } from "./testGroups.ts"
import { readTestReport } from "./testReport.ts"

export interface TestRun extends Judged {
  /** Further arguments of `bun test`. */
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

export const runTests = async (run: TestRun, isAlone: boolean): Promise<Result> => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-check-"))
  const reportFile = join(folder, "junit.xml")
  const timingsFile = join(folder, "timings.json")
  writeFileSync(timingsFile, timingsOf(run.files))
  try {
    const ended = await runProgram(
      {
        title: `tests: ${run.title}, ${run.files.length === 1 ? run.files[0] : `${run.files.length} files`}`,
        command: installed("bun"),
        args: [
          "test",
          `--timeout=${run.timeoutMs ?? 60_000}`,
          // Of the tests that may run together, as many as the machine can take beside other files.
          "--max-concurrency=3",
          "--reporter=junit",
          `--reporter-outfile=${reportFile}`,
          `--timings=${timingsFile}`,
          ...(run.args ?? []),
          ...(run.namePattern === undefined ? [] : [`--test-name-pattern=${run.namePattern}`]),
          ...run.files.map((file) => `./${file}`),
        ],
        ...(run.env === undefined ? {} : { env: run.env }),
      },
      isAlone,
    )
    return judge(run, readTestReport(textOf(reportFile)), ended)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** If the runner has several workers, it starts the files first whose number is highest. */
const timingsOf = (files: ReadonlyArray<string>): string => {
  const ranks = files.map((file) => [file, longFiles.includes(file) ? 1_000 : 1])
  return JSON.stringify({ version: 1, files: Object.fromEntries(ranks) })
}

const textOf = (reportFile: string): string => {
  try {
    return readFileSync(reportFile, "utf8")
  } catch {
    // The runner died before it wrote a report. Then no file has a result.
    return ""
  }
}
