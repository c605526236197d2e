// `npm test`: everything that must pass before a commit. Groups of tests that cannot disturb each other run in
// parallel. The tests of processes run after them. The last line is the count: `N passed, N failed`. Each static
// check counts as one.
import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import type { Result } from "./judge.ts"
import { installed, type Program, runProgram } from "./runProgram.ts"
import { withSecondRuns } from "./secondRuns.ts"
import { summaryOf } from "./summary.ts"
import { type Group, GroupSorter, groups, longestFirst, testFiles } from "./testGroups.ts"
import { runTests, type TestRun } from "./testRun.ts"

const usage = `npm test -- [options] [part of a path ...]
  --fast           static checks and the fast group with fewer random cases: an answer within a minute
  --group NAME     the tests of one group: ${groups.join(", ")}
  -t, --test-name-pattern REGEX
                   only tests whose name matches
  --list           print the group of each test file, and run nothing`

interface Asked {
  readonly isFast: boolean
  readonly isList: boolean
  readonly group: Group | undefined
  readonly namePattern: string | undefined
  readonly paths: ReadonlyArray<string>
}

const asked = (): Asked => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      fast: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      group: { type: "string" },
      "test-name-pattern": { type: "string", short: "t" },
    },
  })
  const group = groups.find((name) => name === values.group)
  if (values.group !== undefined && group === undefined)
    throw new Error(`there is no group ${values.group}: use one of ${groups.join(", ")}`)
  if (values.fast && group !== undefined && group !== "fast") {
    throw new Error(`--fast runs only the fast group, so it cannot be combined with --group ${group}`)
  }
  return {
    isFast: values.fast,
    isList: values.list,
    group: values.fast ? "fast" : group,
    namePattern: values["test-name-pattern"],
    paths: positionals.map((path) => path.replace(/^\.\//, "")),
  }
}

const staticTitle = "static"

/**
 * On one thread, because threads of the compiler repeat much of each other's work. The fast run keeps what it has learned
 * for the next fast run. All other runs check everything anew.
 */
const typesOf = (title: string, project: string, isFast: boolean): Program => {
  const kept = `node_modules/.cache/punctual/${project.replaceAll("/", "-")}.tsbuildinfo`
  const incremental = isFast ? ["--incremental", "--tsBuildInfoFile", kept] : []
  return {
    title,
    command: installed("tsc"),
    args: ["--project", project, "--singleThreaded", ...incremental],
  }
}

const staticChecks = (isFast: boolean): ReadonlyArray<Program> => [
  { title: "format and lint", command: installed("biome"), args: ["check", "--error-on-warnings", "."] },
  typesOf("types", "tsconfig.json", isFast),
  typesOf("types of the pages", "web/tsconfig.json", isFast),
  // Without the types of a runtime: the client uses only what all of them have.
  typesOf("types of the client", "sdks/typescript/tsconfig.json", isFast),
]

/** Only the fast group can use all cores. It does so when no other group runs. */
const workers = Math.min(4, availableParallelism())
const onAllCores = [`--parallel=${workers}`, "--no-isolate", "--only-failures"]

/** Tests that start no program share a process, because they load the same files. */
const isOneRun = (group: Group): boolean => group === "fast" || group === "long"

const testRunOf = (group: Group, files: ReadonlyArray<string>, { isFast, namePattern }: Asked): TestRun => ({
  title: group,
  files,
  namePattern,
  args: [
    ...(isOneRun(group) ? ["--preload=./scripts/refusePrograms.ts"] : []),
    ...(isFast && workers > 1 ? onAllCores : []),
  ],
  ...(isFast ? { env: { PUNCTUAL_EFFORT: "fast" } } : {}),
})

type Step = (isAlone: boolean) => Promise<Result>

const staticStep =
  (program: Program): Step =>
  async (isAlone) => {
    const { isGood, how } = await runProgram(program, isAlone)
    const failures = isGood ? [] : [{ name: program.title, message: `${how}; its output is above` }]
    return { title: staticTitle, passed: isGood ? 1 : 0, failures, skips: [], secondsByFile: new Map() }
  }

/** The steps of each lane. */
type Lanes = ReadonlyArray<ReadonlyArray<Step>>

/**
 * Lanes run in parallel. There are three on two cores, because most tests that start programs wait half of the time. The
 * steps of a lane run one after the other. A lane without steps takes the last step of the longest one. When no step of a
 * phase waits any more, a lane goes on with the next phase.
 */
const runPhases = async (phases: ReadonlyArray<Lanes>): Promise<ReadonlyArray<Result>> => {
  const waiting = phases.map((lanes) => lanes.map((steps) => [...steps]))
  const isAlone = waiting.flat(2).length === 1
  const nextFor = (lane: number): Step | undefined => {
    const lanes = waiting.find((all) => all.some(({ length }) => length > 0)) ?? []
    return lanes[lane]?.shift() ?? lanes.toSorted((a, b) => b.length - a.length)[0]?.pop()
  }
  const runLane = async (lane: number): Promise<ReadonlyArray<Result>> => {
    const results: Array<Result> = []
    for (let step = nextFor(lane); step !== undefined; step = nextFor(lane)) results.push(await step(isAlone))
    return results
  }
  const lanes = Math.max(...phases.map(({ length }) => length))
  return (await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)))).flat()
}

const runAll = async (what: Asked): Promise<ReadonlyArray<Result>> => {
  const sorter = new GroupSorter()
  const files = testFiles().filter(
    (file) => what.paths.length === 0 || what.paths.some((path) => file.includes(path)),
  )
  const filesOf = (group: Group) =>
    what.group === undefined || what.group === group
      ? files.filter((file) => sorter.groupOf(file) === group)
      : []
  if (what.isList) {
    for (const group of groups) for (const file of filesOf(group)) console.log(`${group.padEnd(9)}  ${file}`)
    return []
  }
  const runOf =
    (group: Group, files: ReadonlyArray<string>): Step =>
    (isAlone) =>
      runTests(testRunOf(group, files, what), isAlone)
  const tests = (group: Group): ReadonlyArray<Step> => {
    const chosen = filesOf(group)
    if (!isOneRun(group)) return longestFirst(chosen).map((file) => runOf(group, [file]))
    return chosen.length === 0 ? [] : [runOf(group, chosen)]
  }
  const chosen = groups.flatMap((group) => {
    const { length } = filesOf(group)
    return length === 0 ? [] : [`${group} ${length}`]
  })
  console.log(`Test files: ${chosen.length === 0 ? "none" : chosen.join(", ")}`)
  const statics = staticChecks(what.isFast).map(staticStep)
  const sideBySide = what.isFast
    ? [statics, tests("fast")]
    : [[...tests("long"), ...statics, ...tests("fast")], tests("pages"), tests("servers")]
  // A third lane takes files of both groups.
  const atEnd = what.isFast ? [] : [tests("clusters"), tests("processes"), []]
  const ran = await withSecondRuns(await runPhases([sideBySide, atEnd]), (group, file) =>
    runOf(group, [file])(true),
  )
  if (chosen.length === 0)
    return [...ran, nothing(what.paths.join(" "), "no test file of the group has this text in its path")]
  const tested = ran.filter(({ title }) => title !== staticTitle)
  const hasRun = tested.some(({ passed, failures }) => passed > 0 || failures.length > 0)
  if (hasRun) return ran
  const why =
    what.namePattern === undefined ? "every test was skipped" : `no test name matches ${what.namePattern}`
  return [...ran, nothing("all tests", why)]
}

/** A run without tests counts as failed, because it proves nothing. */
const nothing = (name: string, message: string): Result => ({
  title: "tests",
  passed: 0,
  failures: [{ name, message }],
  skips: [],
  secondsByFile: new Map(),
})

const main = async (): Promise<void> => {
  let what: Asked
  try {
    what = asked()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 1
    return
  }
  const results = await runAll(what)
  if (what.isList) return
  console.log(summaryOf(results))
  process.exitCode = results.every(({ failures }) => failures.length === 0) ? 0 : 1
}

await main()
