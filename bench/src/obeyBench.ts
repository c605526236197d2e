// The side of a LowPriorityProcess that runs in the process. It says `ready`, begins when the bench says `go`, and prints
// what it got when the bench says `stop`. It ends by itself after a time limit, or when the bench ends, because then its
// input ends.
import { Tally } from "./Tally.ts"

export interface Work {
  readonly begin: () => void
  /** Releases what the process would leave behind. */
  readonly end?: () => Promise<void>
}

/** `prepare` gets the terms that the bench gave. */
export const obeyBench = async <Terms>(
  prepare: (terms: Terms, tally: Tally) => Promise<Work>,
): Promise<void> => {
  const [json = "", seconds = ""] = process.argv.slice(2)
  setTimeout(() => process.exit(3), Number(seconds) * 1_000)
  process.stdin.on("end", () => process.exit(4))
  const tally = new Tally()
  const { begin, end } = await prepare(JSON.parse(json) as Terms, tally)
  const stop = async () => {
    const counts = JSON.stringify(tally.counts)
    await end?.()
    process.stdout.write(`${counts}\n`, () => process.exit(0))
  }
  process.stdin.on("data", (bytes: Buffer) => {
    for (const word of bytes.toString().trim().split("\n")) {
      if (word === "go") begin()
      if (word === "stop") void stop()
    }
  })
  process.stdout.write("ready\n")
}
