// How a client library in another language is checked: the tools that it needs, and the programs that check it. Each
// library describes itself in its checks.ts, so that scripts/clients.ts knows no language.

/** A tool that must be on the machine. Without it, all checks of the library are skipped by name, or fail in CI. */
export interface ClientTool {
  /** With the oldest version that works, for example "Go 1.23 or newer". */
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly isGood: (output: string) => boolean
}

/**
 * Where the results of single tests are: in the JSON lines that `go test -json` prints, or in JUnit files (one file, or
 * all files of a folder). The path is relative to the folder of the library.
 */
export type ClientReport = "goJson" | { readonly junit: string }

export interface ClientStep {
  readonly title: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Without a report, the step counts as one test. */
  readonly report?: ClientReport
  /** Too long for every commit: only `npm run test:matrix -- --only clients` runs it. */
  readonly needs?: "matrix"
}

export interface ClientChecks {
  readonly name: string
  /** From the root of the repository. The steps run in it. */
  readonly folder: string
  readonly tools: ReadonlyArray<ClientTool>
  /** They install what the steps need. They count only if they fail, and then the steps do not run. */
  readonly prepare?: ReadonlyArray<ClientStep>
  readonly steps: ReadonlyArray<ClientStep>
}

/** Whether a version, for example "1.26.8", is at least the other. */
export const isAtLeast = (version: string | undefined, oldest: string): boolean => {
  if (version === undefined) return false
  const [have, want] = [version, oldest].map((text) => text.split(".").map(Number))
  for (const [index, wanted] of (want ?? []).entries()) {
    const part = have?.[index] ?? 0
    if (part !== wanted) return part > wanted
  }
  return true
}
