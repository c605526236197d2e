// Checks a run of `bun test` more strictly than its exit code does: a file without any result and a skip without a
// reason also count as failures.
import { reasonOfSkip, type TestReport } from "./testReport.ts"

/** What the run should have tested. */
export interface Judged {
  /** The group. The lists of failures and slow files show it. */
  readonly title: string
  readonly files: ReadonlyArray<string>
  /** Only tests whose names match run. The others count neither as run nor as skipped. */
  readonly namePattern?: string | undefined
}

export interface Failure {
  readonly name: string
  readonly message: string
  /** Absent if the failure belongs to the whole run. */
  readonly file?: string
}

export interface Result {
  readonly title: string
  readonly passed: number
  readonly failures: ReadonlyArray<Failure>
  /** Tests that failed in parallel with others, and passed when their file ran again, alone. */
  readonly unsteady?: ReadonlyArray<Failure>
  readonly skips: ReadonlyArray<{ readonly name: string; readonly reason: string }>
  readonly secondsByFile: ReadonlyMap<string, number>
}

export const judge = (
  { title, files, namePattern }: Judged,
  { cases, secondsByFile }: TestReport,
  ended: { readonly isGood: boolean; readonly how: string },
): Result => {
  const isFiltered = namePattern !== undefined
  const skipped = isFiltered ? [] : cases.filter(({ outcome }) => outcome === "skipped")
  const passed = cases.filter(({ outcome }) => outcome === "passed").length
  const failures = [
    ...cases
      .filter(({ outcome }) => outcome === "failed")
      .map(({ file, name, message }): Failure => ({ name: `${file}: ${name}`, message, file })),
    ...skipped
      .filter((skip) => reasonOfSkip(skip) === undefined)
      .map(({ file, name }) => ({
        name: `${file}: ${name}`,
        message: 'skipped without a reason: add "(skipped: why)" to the end of its name',
        file,
      })),
    ...files
      .filter((file) => !secondsByFile.has(file))
      .map((file) => ({
        name: file,
        message: `no result: it has no tests, could not be loaded, or the runner crashed (${ended.how})`,
        file,
      })),
  ]
  // `bun test` also fails if no test of the group matches the name. Another group may have a match, so this is no
  // failure here.
  const hasNoneOfTheName = isFiltered && passed === 0
  if (!ended.isGood && !hasNoneOfTheName && failures.length === 0) {
    failures.push({ name: title, message: `no test failed, but the run itself failed: ${ended.how}` })
  }
  const skips = skipped.flatMap((skip) => {
    const reason = reasonOfSkip(skip)
    return reason === undefined ? [] : [{ name: `${skip.file}: ${skip.name}`, reason }]
  })
  return { title, passed, failures, skips, secondsByFile }
}
