// The entry of the program. It loads the program only after it has raised the limit of the runtime, because loading takes
// most of the time of a start, and raising the limit starts the runtime again.
import { raiseRequestLimit } from "./raiseRequestLimit.ts"

raiseRequestLimit()
const { program } = await import("./program.ts")
process.exit(await program(process.argv.slice(2)))
