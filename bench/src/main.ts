// `npm run bench`: Punctual and the bare limits on the same work, in turns, on this machine; one table.
//   --only P2,P4   some of them          --quick   smaller work, one round          --rounds N   (3)
//   --peers        with the systems that it is compared with
import { cpus, totalmem } from "node:os"
import { parseArgs } from "node:util"
import type { Benchmark, Report, Scale } from "./Benchmark.ts"
import { Isolation } from "./benchmarks/Isolation.ts"
import { P1 } from "./benchmarks/P1.ts"
import { P2 } from "./benchmarks/P2.ts"
import { P3 } from "./benchmarks/P3.ts"
import { P4 } from "./benchmarks/P4.ts"
import { P5 } from "./benchmarks/P5.ts"
import { P6 } from "./benchmarks/P6.ts"
import { P7 } from "./benchmarks/P7.ts"
import { P10 } from "./benchmarks/P10.ts"
import { Vacuum } from "./benchmarks/Vacuum.ts"

const benchmarks: ReadonlyArray<Benchmark> = [P1, P2, P3, P4, P5, P6, P7, P10, Isolation, Vacuum]
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
    "| measure | value | to reach | |",
    "| --- | --- | --- | --- |",
    ...verdicts.map(
      ({ label, value, target, isReached }) =>
        `| ${label} | ${value} | ${target} | ${isReached ? "reached" : "missed"} |`,
    ),
    "",
  ].join("\n")

const run = async () => {
  const { chosen, scale } = readArguments()
  const [cpu] = cpus()
  process.stdout.write(
    `# Punctual beside the bare limits\n\n${cpus().length} × ${cpu?.model ?? "unknown"}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Bun ${Bun.version}, ${scale.rounds} round(s)` +
      `${scale.isQuick ? ", quick" : ""}\n\n`,
  )
  for (const benchmark of chosen) {
    say(`${benchmark.id} …`)
    const report = await benchmark.run(scale, (message) => say(`  ${benchmark.id} ${message}`))
    process.stdout.write(`${table(benchmark, report)}\n`)
  }
}

try {
  await run()
  process.exit(0)
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
