// `npm run bench`: gives the same work to Punctual, its peers and the bare limits, in turns, on this machine.
//   --only P2,P4   only these benchmarks; P5 is also the name of P5, P5R and P5K together
//   --quick        a smoke run with very little work
//   --stores A,B   only these databases of Stores, P8 and P9. The results keep the others of earlier runs
//   --rounds N     how often each side runs (default 3)
//   --peers        also run the systems that Punctual is compared with
//   --scene TEXT   only the scenes of Isolation with this text in their name, such as "SQLite, bodies"; may be repeated.
//                  The results keep the other scenes of earlier runs
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Benchmark, leftOut, type Report, type Scale, whyNot } from "./Benchmark.ts"
import { Agent } from "./benchmarks/Agent.ts"
import { Console } from "./benchmarks/Console.ts"
import { Cores } from "./benchmarks/Cores.ts"
import { Isolation } from "./benchmarks/Isolation.ts"
import { Keys } from "./benchmarks/Keys.ts"
import { Lateness } from "./benchmarks/Lateness.ts"
import { P1 } from "./benchmarks/P1.ts"
import { P2 } from "./benchmarks/P2.ts"
import { P3 } from "./benchmarks/P3.ts"
import { P4 } from "./benchmarks/P4.ts"
import { P5, P5K, P5R } from "./benchmarks/P5.ts"
import { P6 } from "./benchmarks/P6.ts"
import { P7 } from "./benchmarks/P7.ts"
import { P8 } from "./benchmarks/P8.ts"
import { P9 } from "./benchmarks/P9.ts"
import { P10 } from "./benchmarks/P10.ts"
import { Size } from "./benchmarks/Size.ts"
import { Stalls } from "./benchmarks/Stalls.ts"
import { Stores, storeIds } from "./benchmarks/Stores.ts"
import { Vacuum } from "./benchmarks/Vacuum.ts"
import { type KeptReport, mergeReports } from "./mergeReports.ts"
import { peers } from "./peers/Peer.ts"
import { headText, reportText } from "./resultText.ts"
import { type ServerName, serverState, serverTitle, whyLeftOut } from "./Servers.ts"
import { type Surroundings, surroundings } from "./Surroundings.ts"

const benchmarks: ReadonlyArray<Benchmark> = [
  P1,
  P2,
  P3,
  P4,
  P5,
  P5R,
  P5K,
  P6,
  P7,
  P8,
  P9,
  P10,
  Lateness,
  Isolation,
  Stalls,
  Console,
  Keys,
  Size,
  Vacuum,
  Agent,
  Stores,
  Cores,
]
const ids = benchmarks.map(({ id }) => id).join(", ")
const usage = `npm run bench -- [--only ${ids}] [--quick] [--peers] [--rounds N] [--scene TEXT] [--stores ${storeIds.join(",")}]`

const say = (text: string) => process.stderr.write(`${text}\n`)

const readArguments = (): { readonly chosen: ReadonlyArray<Benchmark>; readonly scale: Scale } => {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      rounds: { type: "string" },
      scene: { type: "string", multiple: true },
      stores: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  const wanted = values.only?.split(",").map((id) => id.trim())
  const isNamed = ({ id, family }: Benchmark, name: string) => id === name || family === name
  const unknown = wanted?.find((name) => !benchmarks.some((benchmark) => isNamed(benchmark, name)))
  if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}: choose from ${ids}`)
  const stores = values.stores?.split(",").map((id) => id.trim())
  const strange = stores?.find((id) => !storeIds.includes(id))
  if (strange !== undefined)
    throw new Error(`there is no database ${strange}: choose from ${storeIds.join(", ")}`)
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3))
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50)
    throw new Error("--rounds takes a whole number, 1 to 50")
  return {
    chosen: benchmarks.filter((benchmark) =>
      wanted === undefined
        ? benchmark.isOnlyOnRequest !== true
        : wanted.some((name) => isNamed(benchmark, name)),
    ),
    scale: {
      rounds,
      isQuick: values.quick,
      withPeers: values.peers,
      ...(values.scene === undefined ? {} : { scenes: values.scene }),
      ...(stores === undefined ? {} : { stores }),
    },
  }
}

const usedByDefault: ReadonlyArray<ServerName> = ["postgres"]

/** Prints where each needed server was found, or what the run skips without it. */
const findServers = (chosen: ReadonlyArray<Benchmark>, scale: Scale): ReadonlyArray<ServerName> => {
  const ofPeers = scale.withPeers ? peers.flatMap(({ needs }) => needs) : []
  const users = new Map<ServerName, Array<string>>()
  for (const { id, uses = usedByDefault, hasPeers = true } of chosen) {
    for (const name of new Set([...uses, ...(hasPeers ? ofPeers : [])])) {
      users.set(name, [...(users.get(name) ?? []), id])
    }
  }
  for (const [name, usedBy] of users) {
    const state = serverState(name)
    say(
      "missing" in state
        ? `${serverTitle[name]} is missing, so ${usedBy.join(", ")} will skip the sides that need it: ${state.missing}`
        : `${serverTitle[name]} ${state.version}: ${state.path}`,
    )
  }
  return [...users.keys()]
}

/** A run of some scenes or stores keeps the other rows of the table. Each row then has figures of the run that measured it last. */
const withEarlierRows = (
  { id, rowOrder }: Benchmark,
  report: Report,
  { scenes, stores, isQuick }: Scale,
  file: string,
): Report => {
  const isPartial = scenes !== undefined || stores !== undefined
  if (!isPartial || isQuick || rowOrder === undefined || !existsSync(file)) return report
  // This program has written the file.
  const { benchmarks: kept } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly benchmarks: ReadonlyArray<KeptReport & { readonly id: string }>
  }
  const before = kept.find((one) => one.id === id)
  return before === undefined ? report : { ...report, ...mergeReports(before, report, rowOrder) }
}

interface Kept {
  readonly benchmark: Benchmark
  readonly report: Report
}

/** If a benchmark cannot run, its table says so, and the others continue. */
const runOne = async (
  benchmark: Benchmark,
  scale: Scale,
  progress: (message: string) => void,
): Promise<Report> => {
  const why = whyLeftOut(benchmark.needs ?? [])
  if (why !== undefined) return { rows: [{ name: "all sides", values: leftOut(why) }], verdicts: [] }
  try {
    return await benchmark.run(scale, progress)
  } catch (error) {
    return { rows: [{ name: "all sides", values: whyNot(error) }], verdicts: [] }
  }
}

/** The figures of a smoke run are not valid results. They go into a separate folder, which is not committed. */
const resultsOf = ({ isQuick }: Scale): string =>
  fileURLToPath(new URL(isQuick ? "../results/quick/" : "../results/", import.meta.url))

/** Names files after the benchmarks, so that a run of some does not replace a run of all. Returns the names. */
const keep = (
  folder: string,
  name: string,
  markdown: string,
  reports: ReadonlyArray<Kept>,
  head: Surroundings,
): ReadonlyArray<string> => {
  mkdirSync(folder, { recursive: true })
  const data = reports.map(({ benchmark: { id, title }, report: { rows, verdicts } }) => ({
    id,
    title,
    rows,
    verdicts,
  }))
  const files: Array<readonly [string, string]> = [
    [`${name}.md`, markdown],
    [`${name}.json`, `${JSON.stringify({ ...head, benchmarks: data }, null, 2)}\n`],
    ...reports.flatMap(({ report }) =>
      (report.plots ?? []).map((plot) => [`${plot.name}.svg`, plot.svg] as const),
    ),
  ]
  for (const [file, text] of files) writeFileSync(join(folder, file), text)
  return files.map(([file]) => file)
}

const run = async () => {
  const { chosen, scale } = readArguments()
  const head = surroundings(scale, findServers(chosen, scale))
  let markdown = headText(head)
  process.stdout.write(markdown)
  const reports: Array<Kept> = []
  const which = chosen.length === benchmarks.length ? "all" : chosen.map(({ id }) => id).join("-")
  const folder = resultsOf(scale)
  let kept: ReadonlyArray<string> = []
  const startedAt = performance.now()
  const minutes = () => `${((performance.now() - startedAt) / 60_000).toFixed(1)} min`
  for (const [index, benchmark] of chosen.entries()) {
    const { id, title } = benchmark
    say(`${id}, ${index + 1} of ${chosen.length}, after ${minutes()}: ${title}`)
    const measured = await runOne(benchmark, scale, (message) => say(`  ${id} ${message}`))
    const report = withEarlierRows(benchmark, measured, scale, join(folder, `${which}.json`))
    reports.push({ benchmark, report })
    const text = reportText(benchmark, report)
    process.stdout.write(text)
    markdown += text
    // Results are written after each benchmark. A run takes long, and an interrupted run keeps what it has.
    kept = keep(folder, which, markdown, reports, head)
  }
  say(`done in ${minutes()}; results in ${relative(process.cwd(), folder)}: ${kept.join(", ")}`)
}

try {
  await run()
  process.exit(0)
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
