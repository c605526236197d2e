// Reads the JUnit report of a run of `bun test`, file by file. If a file should have run and is not in the report, it
// has crashed or could not be loaded.

export interface TestCase {
  readonly file: string
  /** The names of the groups around the test, outermost first, and then its own name. */
  readonly name: string
  readonly outcome: "passed" | "failed" | "skipped"
  /** The runner's message for a failed or skipped test; empty if it has none. */
  readonly message: string
}

export interface TestReport {
  readonly cases: ReadonlyArray<TestCase>
  /** How long each file took, by its path. */
  readonly secondsByFile: ReadonlyMap<string, number>
}

export const readTestReport = (xml: string): TestReport => {
  const secondsByFile = new Map<string, number>()
  for (const [, attributes = ""] of xml.matchAll(/<testsuite\b([^>]*)>/g)) {
    const file = attributeOf(attributes, "file")
    // Groups within a file are suites, too. Their name differs from the file's.
    if (attributeOf(attributes, "name") === file) {
      secondsByFile.set(file, (secondsByFile.get(file) ?? 0) + Number(attributeOf(attributes, "time")))
    }
  }
  const cases = [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, attributes = "", body = ""]): TestCase => ({
      file: attributeOf(attributes, "file"),
      name: [...attributeOf(attributes, "classname").split(" > ").reverse(), attributeOf(attributes, "name")]
        .filter((part) => part !== "")
        .join(" > "),
      ...outcomeOf(body),
    }),
  )
  return { cases, secondsByFile }
}

/** Why a test was skipped: its name, or that of a group around it, says `(skipped: why)`. */
export const reasonOfSkip = ({ name }: TestCase): string | undefined =>
  /\(skipped: (.*\S.*?)\)(?: > |$)/.exec(name)?.[1]

const outcomeOf = (content: string): Pick<TestCase, "outcome" | "message"> => {
  // What the test printed may look like an element.
  const body = content.replaceAll(/<system-(out|err)>[\s\S]*?<\/system-\1>/g, "")
  const failure = /<(?:failure|error)\b([^>]*)>/.exec(body)
  if (failure !== null) return { outcome: "failed", message: attributeOf(failure[1] ?? "", "message") }
  const skip = /<skipped\b([^>]*)>/.exec(body)
  return skip === null
    ? { outcome: "passed", message: "" }
    : { outcome: "skipped", message: attributeOf(skip[1] ?? "", "message") }
}

const attributeOf = (attributes: string, name: string): string =>
  unescaped(new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1] ?? "")

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }

const unescaped = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string | undefined) =>
    code === undefined ? (entities[name ?? ""] ?? whole) : String.fromCodePoint(Number(code)),
  )
