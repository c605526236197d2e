// Punctual as the process that is killed: `bun punctualChild.ts sqlite|postgres PLACE TERMS`. See deliverToFile.ts.
import { openPunctual } from "../PunctualSystem.ts"
import { deliverToFile } from "./deliverToFile.ts"

const [kind, place, text] = process.argv.slice(2)
if ((kind !== "sqlite" && kind !== "postgres") || place === undefined || text === undefined) {
  process.stderr.write("usage: punctualChild.ts sqlite|postgres PLACE TERMS\n")
  process.exit(2)
}

await deliverToFile(await openPunctual(kind, place), JSON.parse(text))
