// One system, one piece of work, in a process of its own: `bun main.mjs SYSTEM PLACE '{"work":"creates","timers":20000,…}'`.
// The result is one line of JSON on stdout. What the work is, and what is counted, is in bench/src/peers/works.ts.
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
