// Loaded into a service before its program (`--preload`). It reports on stderr how long the engine's thread worked between
// two checks, without the time in which the system gave the processor to others: on a small machine that is most of the
// time in which the thread does not come to other work. Linux only.
import { readFileSync } from "node:fs"

/** Begins a line of the report: the time of day, and milliseconds by the clock and on the processor. */
export const heldMark = "held "
const checkEveryMs = 1
const reportedFromMs = 4

const onProcessorMs = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6

const watch = (): void => {
  let before = { at: performance.now(), worked: onProcessorMs() }
  setInterval(() => {
    const now = { at: performance.now(), worked: onProcessorMs() }
    const heldMs = now.at - before.at
    if (heldMs >= reportedFromMs)
      process.stderr.write(`${heldMark}${JSON.stringify([Date.now(), heldMs, now.worked - before.worked])}\n`)
    before = { at: performance.now(), worked: onProcessorMs() }
  }, checkEveryMs).unref()
}

// The bench imports only the constant.
if (process.argv.includes("serve")) watch()
