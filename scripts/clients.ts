// `npm run test:clients`: checks the client libraries in Go, Python and Java (TypeScript's belong to `npm test`). Each
// library says in its checks.ts what it needs and how it is checked. The last line has the form of `npm test`.
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { goChecks } from "../sdks/go/checks.ts"
import { ClientHarness } from "../sdks/harness/ClientHarness.ts"
import { executableIn } from "../sdks/harness/fromSource.ts"
import { javaChecks } from "../sdks/java/checks.ts"
import { pythonChecks } from "../sdks/python/checks.ts"
import { testsAllRuntimes } from "../server/testkit/effort.ts"
import { TemporaryFolder } from "../server/testkit/TemporaryFolder.ts"
import type { ClientChecks, ClientStep } from "./clientChecks.ts"
import { type ClientCase, casesOfGo, casesOfJunit, resultOf } from "./clientReport.ts"
import type { Result } from "./judge.ts"
import { root } from "./repository.ts"
import { type Ended, runProgram } from "./runProgram.ts"
import { summaryOf } from "./summary.ts"

const libraries: ReadonlyArray<ClientChecks> = [goChecks, pythonChecks, javaChecks]

const usage = `npm run test:clients -- [options]
  --only NAME    one of ${libraries.map(({ name }) => name.toLowerCase()).join(", ")}`

const chosen = (): ReadonlyArray<ClientChecks> => {
  const { values } = parseArgs({ options: { only: { type: "string" } } })
  const found = libraries.filter(
    ({ name }) => values.only === undefined || name.toLowerCase() === values.only.toLowerCase(),
  )
  if (found.length === 0) throw new Error(`there is no library ${values.only}`)
  return found
}

const emptyResult = { passed: 0, failures: [], skips: [], secondsByFile: new Map() }

/** The tools that are missing or too old, as text for a person; undefined if all are there. */
const missingTools = ({ name, tools }: ClientChecks): string | undefined => {
  const missing = tools.filter(({ command, args, isGood }) => {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: 60_000 })
    return status !== 0 || !isGood(`${stdout}${stderr}`)
  })
  return missing.length === 0
    ? undefined
    : `the ${name} client needs ${missing.map((tool) => tool.name).join(", ")}`
}

const runStep = async (
  library: ClientChecks,
  step: ClientStep,
  env: Readonly<Record<string, string>>,
): Promise<Result> => {
  const folder = join(root, library.folder)
  const { report } = step
  const startedMs = performance.now()
  using temporary = new TemporaryFolder()
  const outputFile = join(temporary.path, "output")
  if (report !== undefined && report !== "goJson")
    rmSync(join(folder, report.junit), { recursive: true, force: true })
  const ended = await runProgram(
    {
      ...step,
      title: `${library.name}: ${step.title}`,
      env: { ...env, ...step.env },
      folder,
      ...(report === "goJson" ? { outputFile } : {}),
    },
    true,
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const counted = resultOf(library.name, casesIn(library, step, outputFile, ended), ended)
  return { ...counted, secondsByFile: new Map([[`${library.folder}: ${step.title}`, seconds]]) }
}

const casesIn = (
  library: ClientChecks,
  step: ClientStep,
  outputFile: string,
  { isGood, how }: Ended,
): ReadonlyArray<ClientCase> => {
  const { report, title } = step
  if (report === "goJson") return casesOfGo(readFileSync(outputFile, "utf8"))
  if (report !== undefined)
    return xmlFiles(join(root, library.folder, report.junit)).flatMap((file) =>
      casesOfJunit(readFileSync(file, "utf8")),
    )
  return [{ name: title, outcome: isGood ? "passed" : "failed", message: isGood ? "" : how }]
}

const xmlFiles = (path: string): ReadonlyArray<string> => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return []
  if (found.isFile()) return [path]
  return readdirSync(path)
    .filter((file) => file.endsWith(".xml"))
    .map((file) => join(path, file))
}

const check = async (
  library: ClientChecks,
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyArray<Result>> => {
  const missing = missingTools(library)
  if (missing !== undefined) {
    console.log(`\n── SKIPPED: ${missing}`)
    const name = `all checks of the ${library.name} client`
    return process.env["CI"] === undefined
      ? [
          {
            ...emptyResult,
            title: library.name,
            skips: [{ name: `${name} (skipped: ${missing})`, reason: missing }],
          },
        ]
      : [{ ...emptyResult, title: library.name, failures: [{ name, message: missing }] }]
  }
  for (const step of library.prepare ?? []) {
    const prepared = await runStep(library, step, env)
    if (prepared.failures.length > 0) return [prepared]
  }
  const results: Array<Result> = []
  for (const step of library.steps)
    if (step.needs === undefined || testsAllRuntimes) results.push(await runStep(library, step, env))
  return results
}

const main = async (): Promise<void> => {
  let asked: ReadonlyArray<ClientChecks>
  try {
    asked = chosen()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 1
    return
  }
  using folder = new TemporaryFolder()
  await using harness = await ClientHarness.start()
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "punctual")
  mkdirSync(cache, { recursive: true })
  const env = {
    PUNCTUAL_EXECUTABLE: executableIn(folder.path),
    PUNCTUAL_HARNESS: harness.url,
    PUNCTUAL_CACHE: cache,
  }
  const results: Array<Result> = []
  for (const library of asked) results.push(...(await check(library, env)))
  console.log(summaryOf(results))
  process.exitCode = results.every(({ failures }) => failures.length === 0) ? 0 : 1
}

await main()
