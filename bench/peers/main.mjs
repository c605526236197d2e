// Runs one piece of work on one system, in a separate process:
// `bun main.mjs SYSTEM PLACE '{"work":"creates","timers":20000,…}'`. The result is one line of JSON on stdout.
// bench/src/peers/works.ts defines the work and the measurement.
import { doWork } from "../src/peers/works.ts"
import { systems } from "./systems.mjs"

const [name, place, text] = process.argv.slice(2)
const open = systems[name]
if (open === undefined || place === undefined || text === undefined) {
  process.stderr.write("usage: main.mjs SYSTEM PLACE WORK\n")
  process.exit(2)
}

const system = await open(place)
await system.ready()
const result = await doWork(system, JSON.parse(text))
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
