// `npm run test:matrix`: checks that take too long for every commit. It runs model and property tests with twenty times
// their usual runs, clusters on every database under every fault, SQLite under thousands of kills, power cuts and failing
// calls, the console over a million timers, the agent killed at every step on every bus and store, upgrades from several
// versions, the package of the client on several runtimes, the clients in other languages, more worlds of the simulator
// than `npm test`, and its mutations.
// The parts run one after the other and print their progress. The last line has the form of `npm test`: all worlds
// together count as one test, and so do all mutations and all clients.
import { parseArgs } from "node:util"
import type { Result } from "./judge.ts"
import { installed, runProgram } from "./runProgram.ts"
import { summaryOf } from "./summary.ts"
import { GroupSorter, groups, testFiles } from "./testGroups.ts"
import { runTests } from "./testRun.ts"

const parts = [
  "models",
  "stores",
  "cuts",
  "console",
  "crashes",
  "upgrades",
  "client",
  "clients",
  "seeds",
  "mutations",
] as const
type Part = (typeof parts)[number]

/** The console on SQLite. It lists a million timers here. */
const consoleFile = "web/test/sqliteConsole.test.ts"
/** What a cluster must survive. Here every database has every fault, with its times judged. */
const faultsFile = "server/testkit/ClusterFaults.suite.ts"
/** Tests of clusters take their traffic from testkit/effort.ts, and try no random cases. */
const clustersFile = "server/testkit/ClusterRun.ts"
/** The Service Agent, killed again and again. It gets 5,000 calls on each pair of a bus and a store here. */
const crashesFile = "agent/test/process/crashes.test.ts"
/** The package of the client. Here it also runs on several versions of Node, and tools of the registry check it. */
const packageFile = "sdks/typescript/test/process/package.test.ts"
/** Clusters that are upgraded. Here they begin with more versions, also with one whose nodes do not sign their calls. */
const upgradesFiles = [
  "server/test/process/versionUpgrade.test.ts",
  "server/test/process/clusterUpgrade.test.ts",
]
/** The disk of an SQLite store, recorded and cut at 20,000 places; 400 failing calls; 300 kills while it merges. */
const cutsFiles = ["recordedCuts", "recordedFaults", "mergeKills"].map(
  (name) => `server/test/process/${name}.test.ts`,
)
/** They have parts of their own. */
const ownParts: ReadonlyArray<string> = [
  ...cutsFiles,
  consoleFile,
  crashesFile,
  ...upgradesFiles,
  packageFile,
]

const usage = `npm run test:matrix -- [options]
  --only PART    one of ${parts.join(", ")}
  --seeds N      how many worlds to simulate (default 2000)
  --from N       the first seed (default 101, the first one that npm test does not run)`

interface Asked {
  readonly parts: ReadonlyArray<Part>
  readonly seeds: number
  readonly from: number
}

const asked = (): Asked => {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      seeds: { type: "string", default: "2000" },
      from: { type: "string", default: "101" },
    },
  })
  const chosen = parts.filter((part) => values.only === undefined || part === values.only)
  if (chosen.length === 0) throw new Error(`there is no part ${values.only}: use one of ${parts.join(", ")}`)
  return { parts: chosen, seeds: positive("seeds", values.seeds), from: positive("from", values.from) }
}

const positive = (name: string, text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`--${name} ${text} is not a whole number of at least 1 with at most 9 digits`)
  return Number(text)
}

const matrixEffort = { env: { PUNCTUAL_EFFORT: "matrix" }, timeoutMs: 15 * 60_000 }
const crashesEffort = { ...matrixEffort, timeoutMs: 60 * 60_000 }

/** The tests that take their number of runs from testkit/effort.ts, except those that have a part of their own. */
const models = async (): Promise<ReadonlyArray<Result>> => {
  const sorter = new GroupSorter()
  const files = testFiles().filter((file) => {
    const reached = sorter.filesReachedBy(file)
    return (
      reached.includes("server/testkit/effort.ts") &&
      !ownParts.includes(file) &&
      !reached.includes(clustersFile) &&
      !reached.includes("server/testkit/simulation/Simulation.ts")
    )
  })
  const results: Array<Result> = []
  for (const group of groups) {
    const ofGroup = files.filter((file) => sorter.groupOf(file) === group)
    if (ofGroup.length === 0) continue
    results.push(await runTests({ title: `models, ${group}`, files: ofGroup, ...matrixEffort }, true))
  }
  return results
}

/** One file after the other, because the limits are those of a machine that does nothing else. */
const stores = async (): Promise<ReadonlyArray<Result>> => {
  const sorter = new GroupSorter()
  const results: Array<Result> = []
  for (const file of testFiles().filter((one) => sorter.filesReachedBy(one).includes(faultsFile))) {
    results.push(await runTests({ title: `stores, ${file}`, files: [file], ...matrixEffort }, true))
  }
  return results
}

/** A program of this repository that counts as one test. */
const runScript = async (title: string, args: ReadonlyArray<string>): Promise<Result> => {
  const { env } = matrixEffort
  const { isGood, how } = await runProgram({ title, command: installed("bun"), args, env }, true)
  const failures = isGood ? [] : [{ name: title, message: `${how}; its output is above` }]
  return { title, passed: isGood ? 1 : 0, failures, skips: [], secondsByFile: new Map() }
}

const simulate = (title: string, args: ReadonlyArray<string>): Promise<Result> =>
  runScript(title, ["server/testkit/simulation/main.ts", ...args])

const run = async ({ parts, seeds, from }: Asked): Promise<ReadonlyArray<Result>> => {
  const results: Array<Result> = []
  if (parts.includes("models")) results.push(...(await models()))
  if (parts.includes("stores")) results.push(...(await stores()))
  for (const file of parts.includes("cuts") ? cutsFiles : []) {
    results.push(await runTests({ title: `cuts, ${file}`, files: [file], ...crashesEffort }, true))
  }
  if (parts.includes("console")) {
    results.push(await runTests({ title: "console", files: [consoleFile], ...matrixEffort }, true))
  }
  if (parts.includes("crashes")) {
    results.push(await runTests({ title: "crashes", files: [crashesFile], ...crashesEffort }, true))
  }
  if (parts.includes("upgrades")) {
    results.push(await runTests({ title: "upgrades", files: upgradesFiles, ...matrixEffort }, true))
  }
  if (parts.includes("client")) {
    results.push(await runTests({ title: "client", files: [packageFile], ...matrixEffort }, true))
  }
  if (parts.includes("clients")) results.push(await runScript("clients", ["scripts/clients.ts"]))
  if (parts.includes("seeds")) {
    results.push(
      await simulate(`${seeds} seeds from ${from} on`, ["--from", `${from}`, "--seeds", `${seeds}`]),
    )
  }
  if (parts.includes("mutations")) results.push(await simulate("mutations", ["--mutations"]))
  return results
}

const main = async (): Promise<void> => {
  let what: Asked
  try {
    what = asked()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 1
    return
  }
  const results = await run(what)
  console.log(summaryOf(results))
  process.exitCode = results.every(({ failures }) => failures.length === 0) ? 0 : 1
}

await main()
