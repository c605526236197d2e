// Runs in the process that is killed, and in the process that follows it. Each delivery is in a file before the handler
// returns, so a kill loses no record of a delivery.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs"
import type { Due, System } from "../peers/works.ts"
import { samplePayload } from "../samplePayload.ts"

export interface ChildTerms {
  /** The file of deliveries, with a line for each: id and instant. */
  readonly deliveries: string
  /** The timers to create first. Undefined if an earlier process has created them. */
  readonly schedule?: string
}

const batch = 1_000
const callers = 4

/** Prints a line on stdout when all timers are created. It does not end by itself. */
export const deliverToFile = async (system: System, { deliveries, schedule }: ChildTerms): Promise<void> => {
  const file = openSync(deliveries, "a")
  process.once("exit", () => closeSync(file))
  await system.ready()
  await system.start((id) => {
    writeSync(file, `${id} ${(performance.timeOrigin + performance.now()).toFixed(3)}\n`)
  })
  if (schedule !== undefined) await createAll(system, JSON.parse(readFileSync(schedule, "utf8")))
  process.stdout.write("created\n")
  setInterval(() => {}, 60_000)
}

const createAll = async (system: System, timers: ReadonlyArray<Due>): Promise<void> => {
  let next = 0
  const caller = async () => {
    while (next < timers.length) {
      const some = timers.slice(next, next + batch)
      next += some.length
      await system.addMany(some, samplePayload)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
}
