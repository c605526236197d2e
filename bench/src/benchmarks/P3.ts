// createMany of 1,000, in process, against bare inserts into the same tables in commits of the same size.
import { Effect } from "effect"
import { atLeast, type Benchmark, compareRates, ratioOf } from "../Benchmark.ts"
import { insertAll } from "../bare/BareTables.ts"
import { type EngineOnDisk, withEngine, withEngineOnPostgres } from "../EngineOnDisk.ts"
import { command, farAhead } from "../work.ts"

const callers = 4
const batch = 1_000

export const P3: Benchmark = {
  id: "P3",
  title: "createMany of 1,000 (4 callers), durable, in process",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 40_000 : 200_000
    const rates = await compareRates(
      [
        {
          name: "Punctual on SQLite",
          perSecond: () => withEngine((engine) => createAll(engine.scheduler, timers)),
        },
        { name: "bare inserts, same tables", perSecond: async () => insertAll(timers) },
        {
          name: "Punctual on PostgreSQL",
          perSecond: () => withEngineOnPostgres((engine) => createAll(engine.scheduler, timers)),
        },
      ],
      scale,
      progress,
    )
    return { rows: rates.rows, verdicts: [atLeast("of bare inserts", ratioOf(rates), 0.6)] }
  },
}

const createAll = async (scheduler: EngineOnDisk["scheduler"], timers: number): Promise<number> => {
  const batches = Array.from({ length: timers / batch }, () =>
    Array.from({ length: batch }, () => command(farAhead())),
  )
  const startedAt = performance.now()
  const caller = async () => {
    for (let commands = batches.pop(); commands !== undefined; commands = batches.pop()) {
      const answers = await Effect.runPromise(scheduler.createMany(commands))
      const refused = answers.find((answer) => !("result" in answer) || answer.result !== "created")
      if (refused !== undefined) throw new Error(`not created: ${JSON.stringify(refused)}`)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (timers / (performance.now() - startedAt)) * 1_000
}
