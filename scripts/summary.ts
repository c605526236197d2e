// The end of a check's output: the slowest files, the skipped tests with their reasons, the unsteady tests, the failures,
// and the count as the last line.
import type { Failure, Result } from "./judge.ts"

const slowestShown = 10
const messageLinesShown = 12

export const summaryOf = (results: ReadonlyArray<Result>): string => {
  const failures = results.flatMap(({ title, failures }) => titled(title, failures))
  const unsteady = results.flatMap(({ title, unsteady = [] }) => titled(title, unsteady))
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  return [
    ...slowest(results),
    ...skips(results),
    ...listed("unsteady: these failed in parallel with other tests, and passed alone", unsteady),
    ...listed("failed", failures),
    "",
    `${passed} passed, ${failures.length} failed`,
  ].join("\n")
}

type Titled = Failure & { readonly title: string }

const titled = (title: string, failures: ReadonlyArray<Failure>): ReadonlyArray<Titled> =>
  failures.map((failure) => ({ title, ...failure }))

const listed = (heading: string, failures: ReadonlyArray<Titled>): ReadonlyArray<string> => [
  ...(failures.length === 0 ? [] : ["", `── ${heading}: ${failures.length}`]),
  ...failures.flatMap(({ title, name, message }) => [
    `[${title}] ${name}`,
    ...message
      .trimEnd()
      .split("\n")
      .slice(0, messageLinesShown)
      .map((line) => `    ${line}`.trimEnd()),
  ]),
]

const slowest = (results: ReadonlyArray<Result>): ReadonlyArray<string> => {
  const files = results
    .flatMap(({ title, secondsByFile }) =>
      [...secondsByFile].map(([file, seconds]) => ({ title, file, seconds })),
    )
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, slowestShown)
  if (files.length === 0) return []
  const total = results
    .flatMap(({ secondsByFile }) => [...secondsByFile.values()])
    .reduce((sum, s) => sum + s, 0)
  return [
    "",
    `── slowest files (all tests: ${total.toFixed(0)} s)`,
    ...files.map(({ title, file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file} (${title})`),
  ]
}

const skips = (results: ReadonlyArray<Result>): ReadonlyArray<string> => {
  const all = results.flatMap(({ title, skips }) => skips.map((skip) => ({ title, ...skip })))
  // The name ends with the reason.
  return all.length === 0
    ? []
    : ["", `── skipped: ${all.length}`, ...all.map(({ title, name }) => `[${title}] ${name}`)]
}
