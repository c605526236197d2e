// Many timers due in the same instant, to a handler that does nothing, until the last one is settled; against
// bare select and delete of the same rows, which keeps no history.
import { Effect } from "effect"
import { atLeast, type Benchmark, compareRates, ratioOf } from "../Benchmark.ts"
import { BareTables, bareTimer } from "../bare/BareTables.ts"
import { type EngineOnDisk, withEngine } from "../EngineOnDisk.ts"
import { command } from "../work.ts"

export const P4: Benchmark = {
  id: "P4",
  title: "100,000 due at once to a no-op handler, until settled",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 20_000 : 100_000
    const rates = await compareRates(
      [
        { name: "Punctual", perSecond: () => withEngine((engine) => fireAll(engine, timers)) },
        { name: "bare select and delete", perSecond: async () => deleteAll(timers) },
      ],
      scale,
      progress,
    )
    return { rows: rates.rows, verdicts: [atLeast("of bare select and delete", ratioOf(rates), 0.5)] }
  },
}

/** From the instant at which all are due to the commit that settles the last. */
const fireAll = async ({ scheduler, store }: EngineOnDisk, timers: number): Promise<number> => {
  const dueAt = Date.now() + 4_000 + timers / 5
  const delivered = () => Effect.runPromise(Effect.map(store.tally, (tally) => tally.delivered))
  const before = await delivered()
  for (let created = 0; created < timers; created += 1_000) {
    await Effect.runPromise(scheduler.createMany(Array.from({ length: 1_000 }, () => command(dueAt))))
  }
  if (Date.now() > dueAt) throw new Error("the timers could not be created before they were due")
  while (Date.now() < dueAt) await Bun.sleep(dueAt - Date.now())
  while ((await delivered()) < before + timers) {
    if (Date.now() > dueAt + 120_000) throw new Error("not all timers were settled within two minutes")
    await Bun.sleep(5)
  }
  return (timers / (Date.now() - dueAt)) * 1_000
}

const deleteAll = (timers: number): number => {
  const bare = new BareTables()
  try {
    const dueAt = Date.now()
    bare.insert(Array.from({ length: timers }, () => bareTimer(dueAt)))
    return bare.selectAndDelete(timers)
  } finally {
    bare.close()
  }
}
