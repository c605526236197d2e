// Many timers due in the same instant, to a handler that does nothing, until the last one is settled. They are compared
// with bare select and delete of the same rows, which keeps no history, and with --peers with the other systems. The time
// counts from the due instant until each system's store shows all timers as done.
import { atLeast, type Benchmark } from "../Benchmark.ts"
import { deleteAll } from "../bare/BareTables.ts"
import { compareRates } from "../compareRates.ts"
import { punctual } from "../PunctualWork.ts"
import { installPeers, peers } from "../peers/Peer.ts"
import { systemSide } from "../systemSide.ts"

/** The time to create the timers. A system that needs longer gets fewer timers. */
const takenInWithinMs = 120_000
const bare = "bare select and delete, SQLite"

export const P4: Benchmark = {
  id: "P4",
  title: "100,000 due at once to a no-op handler, until all are settled",
  uses: ["postgres"],
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 500 : 100_000
    if (scale.withPeers) await installPeers(progress)
    const others = scale.withPeers ? peers : []
    const rates = await compareRates(
      [
        ...[...punctual, ...others].map((system) =>
          systemSide(system, { work: "burst", timers, leadMs: takenInWithinMs }),
        ),
        {
          name: bare,
          terms: "the tables of version 4, 500 per commit, no history",
          measure: async () => deleteAll(timers),
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    const best = rates.best(peers.map(({ name }) => name))
    return {
      rows: rates.rows,
      verdicts: [
        ...(scale.withPeers ? [atLeast("SQLite, of the best peer", ours / best, 1.5)] : []),
        atLeast("SQLite, of bare select and delete", ours / rates.of(bare), 0.5),
      ],
    }
  },
}
