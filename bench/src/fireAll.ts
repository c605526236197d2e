// Fires many timers that are due in the same instant, through an engine in this process.
import type { Spec } from "@punctual/server/domain/Timer"
import { Effect } from "effect"
import type { EngineOnDisk } from "./EngineOnDisk.ts"
import { command } from "./work.ts"

const batch = 1_000
const settledWithinMs = 120_000

/** Returns timers per second, from the instant at which all are due to the commit that settles the last. */
export const fireAll = async (
  { scheduler, store }: EngineOnDisk,
  timers: number,
  spec?: Spec,
): Promise<number> => {
  const dueAt = Date.now() + 1_000 + timers / 4
  const delivered = () => Effect.runPromise(Effect.map(store.tally, (tally) => tally.delivered))
  const before = await delivered()
  for (let created = 0; created < timers; created += batch) {
    const length = Math.min(batch, timers - created)
    await Effect.runPromise(scheduler.createMany(Array.from({ length }, () => command(dueAt, spec))))
  }
  if (Date.now() > dueAt) throw new Error("the timers could not be created before they were due")
  while (Date.now() < dueAt) await Bun.sleep(dueAt - Date.now())
  while ((await delivered()) < before + timers) {
    if (Date.now() > dueAt + settledWithinMs)
      throw new Error("not all timers were settled within two minutes")
    await Bun.sleep(5)
  }
  return (timers / (Date.now() - dueAt)) * 1_000
}
