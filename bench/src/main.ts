// `npm run bench`: Punctual and the bare limits on the same work, in turns, on this machine; one table.
//   --only P2,P4   some of them          --quick   smaller work, one round          --rounds N   (3)
//   --peers        with the systems that it is compared with
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus, totalmem } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Benchmark, Report, Scale } from "./Benchmark.ts"
import { Isolation } from "./benchmarks/Isolation.ts"
import { Lateness } from "./benchmarks/Lateness.ts"
import { P1 } from "./benchmarks/P1.ts"
import { P2 } from "./benchmarks/P2.ts"
import { P3 } from "./benchmarks/P3.ts"
import { P4 } from "./benchmarks/P4.ts"
import { P5 } from "./benchmarks/P5.ts"
import { P6 } from "./benchmarks/P6.ts"
import { P7 } from "./benchmarks/P7.ts"
import { P10 } from "./benchmarks/P10.ts"
import { Vacuum } from "./benchmarks/Vacuum.ts"

const benchmarks: ReadonlyArray<Benchmark> = [P1, P2, P3, P4, P5, P6, P7, P10, Lateness, Isolation, Vacuum]
const ids = benchmarks.map(({ id }) => id).join(", ")
const usage = `npm run bench -- [--only ${ids}] [--quick] [--peers] [--rounds N]`

const say = (text: string) => process.stderr.write(`${text}\n`)

const readArguments = (): { readonly chosen: ReadonlyArray<Benchmark>; readonly scale: Scale } => {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      rounds: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  const wanted = values.only?.split(",").map((id) => id.trim())
  const unknown = wanted?.find((id) => !benchmarks.some((benchmark) => benchmark.id === id))
  if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}: choose from ${ids}`)
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3))
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50)
    throw new Error("--rounds takes a whole number, 1 to 50")
  return {
    chosen: benchmarks.filter(({ id }) => wanted === undefined || wanted.includes(id)),
    scale: { rounds, isQuick: values.quick, withPeers: values.peers },
  }
}

const table = (benchmark: Benchmark, { rows, verdicts }: Report): string =>
  [
    `## ${benchmark.id}: ${benchmark.title}`,
    "",
    "| side | median (lowest to highest) |",
    "| --- | --- |",
    ...rows.map(({ name, values }) => `| ${name} | ${values} |`),
    "",
    ...(verdicts.length === 0 ? [] : ["| measure | value | to reach | |", "| --- | --- | --- | --- |"]),
    ...verdicts.map(
      ({ label, value, target, isReached }) =>
        `| ${label} | ${value} | ${target} | ${isReached ? "reached" : "missed"} |`,
    ),
    "",
  ].join("\n")

const results = fileURLToPath(new URL("../results/", import.meta.url))

/** Named after what was run, so that a run of some does not replace one of all. */
const keep = (name: string, markdown: string, reports: ReadonlyArray<Kept>, head: object): void => {
  mkdirSync(results, { recursive: true })
  writeFileSync(`${results}${name}.md`, markdown)
  const data = reports.map(({ benchmark: { id, title }, report: { rows, verdicts } }) => ({
    id,
    title,
    rows,
    verdicts,
  }))
  writeFileSync(`${results}${name}.json`, `${JSON.stringify({ ...head, benchmarks: data }, null, 2)}\n`)
  for (const { report } of reports) {
    for (const { name: file, svg } of report.plots ?? []) writeFileSync(`${results}${file}.svg`, svg)
  }
  say(`kept in bench/results: ${name}.md, ${name}.json and plots`)
}

interface Kept {
  readonly benchmark: Benchmark
  readonly report: Report
}

const run = async () => {
  const { chosen, scale } = readArguments()
  const [cpu] = cpus()
  const head = {
    machine: `${cpus().length} × ${cpu?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`,
    runtime: `Bun ${Bun.version}`,
    at: new Date().toISOString(),
    ...scale,
  }
  let markdown = `# Punctual beside the bare limits${scale.withPeers ? " and its peers" : ""}\n\n${head.machine}, ${head.runtime}, ${scale.rounds} round(s)${scale.isQuick ? ", quick" : ""}, ${head.at}\n\n`
  process.stdout.write(markdown)
  const reports: Array<Kept> = []
  for (const benchmark of chosen) {
    say(`${benchmark.id} …`)
    const report = await benchmark.run(scale, (message) => say(`  ${benchmark.id} ${message}`))
    reports.push({ benchmark, report })
    const text = `${table(benchmark, report)}\n`
    process.stdout.write(text)
    markdown += text
  }
  const which = chosen.length === benchmarks.length ? "all" : chosen.map(({ id }) => id).join("-")
  keep(`${which}${scale.isQuick ? "-quick" : ""}`, markdown, reports, head)
}

try {
  await run()
  process.exit(0)
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
