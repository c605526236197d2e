// A peer as the process that is killed: `bun afterKill.mjs SYSTEM PLACE TERMS`. See bench/src/kill/deliverToFile.ts.
import { deliverToFile } from "../src/kill/deliverToFile.ts"
import { systems } from "./systems.mjs"

const [name, place, text] = process.argv.slice(2)
const open = systems[name]
if (open === undefined || place === undefined || text === undefined) {
  process.stderr.write("usage: afterKill.mjs SYSTEM PLACE TERMS\n")
  process.exit(2)
}

await deliverToFile(await open(place), JSON.parse(text))
