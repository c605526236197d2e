// Punctual's version of bench/peers/main.mjs. It does one piece of work in a separate process:
// `bun punctualMain.ts sqlite|postgres PLACE WORK`, or `url URL SHARDS WORK`. The result is one line of JSON on stdout.
import { openPunctual } from "./PunctualSystem.ts"
import { doWork } from "./peers/works.ts"

const [kind, place, ...rest] = process.argv.slice(2)
const text = rest.at(-1)
if (
  (kind !== "sqlite" && kind !== "postgres" && kind !== "url") ||
  place === undefined ||
  text === undefined
) {
  process.stderr.write("usage: punctualMain.ts sqlite|postgres PLACE WORK, or url URL SHARDS WORK\n")
  process.exit(2)
}

const system = await openPunctual(kind === "url" ? { url: place, shards: Number(rest[0]) } : kind, place)
const result = await doWork(system, JSON.parse(text))
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
