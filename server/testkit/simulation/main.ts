// `npm run simulate`: replays one seed (--seed), runs many seeds for some time (--minutes), or shows that the
// simulation finds known faults (--mutations).
import { parseArgs } from "node:util"
import { runMutations } from "./runMutations.ts"
import { type SimulationOptions, type SimulationResult, simulate } from "./Simulation.ts"

const print = (line: string) => process.stdout.write(`${line}\n`)

const summary = ({ steps, traceHash, simulatedMs, troubles, asks, firings }: SimulationResult): string =>
  `${steps} steps, trace ${traceHash}, ${(simulatedMs / 1_000).toFixed(0)} s simulated, ` +
  `${troubles} troubles, ${asks} asks, ${firings} firings`

const replay = (seed: number, options: SimulationOptions): boolean => {
  const result = simulate(seed, options)
  for (const line of result.trace) print(line)
  print(`seed ${seed}: ${summary(result)}`)
  for (const violation of result.violations) print(`  broken: ${violation}`)
  return result.violations.length === 0
}

interface Run {
  readonly firstSeed: number
  readonly seeds: number
  readonly minutes: number
}

/** Runs seed after seed until one fails, or until the time or the seeds run out. */
const runOn = ({ firstSeed, seeds, minutes }: Run): boolean => {
  const started = performance.now()
  const total = { seeds: 0, simulatedMs: 0, troubles: 0, firings: 0 }
  let saidAt = started
  const say = () => {
    const seconds = ((performance.now() - started) / 1_000).toFixed(0)
    print(
      `${seconds} s: ${total.seeds} seeds, ${(total.simulatedMs / 3_600_000).toFixed(1)} simulated hours, ` +
        `${total.troubles} troubles, ${total.firings} firings`,
    )
  }
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    if (performance.now() - started > minutes * 60_000) break
    const result = simulate(seed)
    total.seeds++
    total.simulatedMs += result.simulatedMs
    total.troubles += result.troubles
    total.firings += result.firings
    if (result.violations.length > 0) {
      say()
      print(`seed ${seed} fails: ${summary(result)}`)
      for (const violation of result.violations.slice(0, 10)) print(`  broken: ${violation}`)
      print(`replay it: npm run simulate -- --seed ${seed} --trace`)
      return false
    }
    if (performance.now() - saidAt > 10_000) {
      saidAt = performance.now()
      say()
    }
  }
  say()
  return true
}

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    minutes: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    mutations: { type: "boolean", default: false },
    only: { type: "string" },
  },
})

/** A table of the safeguards, with the seed that found each removal. */
const runAllMutations = (seeds: number, only: string | undefined): boolean => {
  print("| taken out | found at seed | by |")
  print("| --- | --- | --- |")
  const all = runMutations(seeds, only, ({ mutation, seeds: at, broken }) =>
    print(`| ${mutation.name} | ${at ?? `not in ${seeds}`} | ${broken.split(":", 1)[0]} |`),
  )
  return all.every(({ seeds: at }) => at !== undefined)
}

const runAsAsked = (): boolean => {
  const { seed, seeds, minutes, from } = values
  if (values.mutations) return runAllMutations(Number(seeds ?? 1_000), values.only)
  if (seed !== undefined) return replay(Number(seed), { isTraced: values.trace })
  return runOn({
    firstSeed: Number(from),
    seeds: Number(seeds ?? Number.MAX_SAFE_INTEGER),
    minutes: Number(minutes ?? (seeds === undefined ? 1 : Number.POSITIVE_INFINITY)),
  })
}

const isGood = runAsAsked()
process.exitCode = isGood ? 0 : 1
