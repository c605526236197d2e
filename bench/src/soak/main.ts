// `npm run soak -- --minutes M`: runs the real service under mixed work for the given time. It samples memory, handles
// and files every ten seconds. At the end it runs the same checker as the process tests. The service keeps history for
// two minutes, so that the store soon has a steady size.
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { seriesPlot } from "../plots/seriesPlot.ts"
import { flatness, type Growth, mostGrowth, type Sample, sampleText } from "./Sample.ts"
import { SoakRun } from "./SoakRun.ts"

const usage = "npm run soak -- [--minutes 60] [--rate 100]"
const results = fileURLToPath(new URL("../../results/", import.meta.url))
const sampleEveryMs = 10_000

const say = (text: string) => process.stderr.write(`${text}\n`)

const wholeNumber = (name: string, text: string, max: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`--${name} takes a whole number, 1 to ${max}`)
  return value
}

const readArguments = () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "60" },
      rate: { type: "string", default: "100" },
      help: { type: "boolean", short: "h", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  return {
    minutes: wholeNumber("minutes", values.minutes, 10_000),
    perSecond: wholeNumber("rate", values.rate, 2_000),
  }
}

const report = (samples: ReadonlyArray<Sample>, violations: string): string =>
  [
    "| measure | second quarter | last quarter | growth | |",
    "| --- | --- | --- | --- | --- |",
    ...flatness(samples).map(
      ({ name, early, late, growth, isFlat }) =>
        `| ${name} | ${early.toFixed(1)} | ${late.toFixed(1)} | ${growth.toFixed(2)} | ${isFlat ? "flat" : "grows"} |`,
    ),
    "",
    violations === "" ? "The checker found nothing wrong." : `The checker found:\n${violations}`,
    "",
  ].join("\n")

interface Kept {
  readonly minutes: number
  readonly perSecond: number
  /** Empty if the checker found nothing. */
  readonly violations: string
  readonly growth: ReadonlyArray<Growth>
  readonly samples: ReadonlyArray<Sample>
}

const keep = (text: string, kept: Kept): void => {
  const { minutes, perSecond, samples } = kept
  const title = `${minutes} minute${minutes === 1 ? "" : "s"} at ${perSecond} timers a second`
  const head = { at: new Date().toISOString(), runtime: `Bun ${Bun.version}`, mostGrowth }
  mkdirSync(results, { recursive: true })
  writeFileSync(`${results}soak.json`, `${JSON.stringify({ ...head, ...kept }, null, 1)}\n`)
  writeFileSync(`${results}soak.svg`, seriesPlot(title, samples))
  writeFileSync(`${results}soak.md`, `# ${title}\n\n${text}`)
  say("results in bench/results: soak.md, soak.json and soak.svg")
}

const run = async (): Promise<number> => {
  const { minutes, perSecond } = readArguments()
  await using soak = await SoakRun.start(perSecond)
  const samples: Array<Sample> = []
  const endsAt = Date.now() + minutes * 60_000
  const working = soak.work(endsAt)
  while (Date.now() < endsAt) {
    await Promise.race([Bun.sleep(Math.min(sampleEveryMs, Math.max(1, endsAt - Date.now()))), working])
    const sample = await soak.sample()
    samples.push(sample)
    say(sampleText(sample))
  }
  await working
  const violations = await soak.judge()
  const text = report(samples, violations)
  keep(text, { minutes, perSecond, violations, growth: flatness(samples), samples })
  process.stdout.write(text)
  return violations === "" && flatness(samples).every(({ isFlat }) => isFlat) ? 0 : 1
}

try {
  process.exit(await run())
} catch (error) {
  say(`soak: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
