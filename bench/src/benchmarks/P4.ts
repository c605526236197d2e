// Many timers due in the same instant, to a handler that does nothing, until the last one is settled; against
// bare select and delete of the same rows, which keeps no history.
import { atLeast, type Benchmark, compareRates, ratioOf } from "../Benchmark.ts"
import { BareTables, bareTimer } from "../bare/BareTables.ts"
import { withEngine, withEngineOnPostgres } from "../EngineOnDisk.ts"
import { fireAll } from "../fireAll.ts"

export const P4: Benchmark = {
  id: "P4",
  title: "100,000 due at once to a no-op handler, until settled",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 20_000 : 100_000
    const rates = await compareRates(
      [
        { name: "Punctual on SQLite", perSecond: () => withEngine((engine) => fireAll(engine, timers)) },
        { name: "bare select and delete", perSecond: async () => deleteAll(timers) },
        {
          name: "Punctual on PostgreSQL",
          perSecond: () => withEngineOnPostgres((engine) => fireAll(engine, timers)),
        },
      ],
      scale,
      progress,
    )
    return { rows: rates.rows, verdicts: [atLeast("of bare select and delete", ratioOf(rates), 0.5)] }
  },
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
