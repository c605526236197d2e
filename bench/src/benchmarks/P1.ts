// Durable single creates in process, by 64 callers at once: Punctual on both of its stores, bare inserts into the same
// tables, and with --peers the other systems.
import { atLeast, type Benchmark, told } from "../Benchmark.ts"
import { insertAll } from "../bare/BareTables.ts"
import { compareRates } from "../compareRates.ts"
import { punctual } from "../PunctualWork.ts"
import { installPeers, peers } from "../peers/Peer.ts"
import { systemSide } from "../systemSide.ts"

const callers = 64
const bare = "bare inserts, 32 a commit, SQLite"

export const P1: Benchmark = {
  id: "P1",
  title: "durable single creates in process, 64 callers",
  uses: ["postgres"],
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 500 : 30_000
    if (scale.withPeers) await installPeers(progress)
    const others = scale.withPeers ? peers : []
    const rates = await compareRates(
      [
        ...[...punctual, ...others].map((system) => systemSide(system, { work: "creates", timers, callers })),
        // The limit of the disk: half of the callers' creates share a commit while the other half is answered.
        {
          name: bare,
          terms: "on disk: the tables of version 4, nothing else",
          measure: async () => insertAll(timers, callers / 2),
        },
      ],
      scale,
      progress,
    )
    const ours = rates.of("Punctual, SQLite")
    const bestOf = (some: typeof peers) => ours / rates.best(some.map(({ name }) => name))
    return {
      rows: rates.rows,
      verdicts: [
        ...(scale.withPeers
          ? [
              atLeast("SQLite, of the best peer", bestOf(peers), 1.3),
              atLeast(
                "SQLite, of the best peer whose creates are also on disk",
                bestOf(peers.filter(({ isOnDisk }) => isOnDisk)),
                1.3,
              ),
            ]
          : []),
        told("SQLite, of bare inserts", ours / rates.of(bare)),
      ],
    }
  },
}
