// Bulk creates by four callers at once. They are compared with bare inserts into the same tables, a thousand per commit,
// and with --peers with bulk adds of the same size by the other systems.
import { atLeast, type Benchmark, told } from "../Benchmark.ts"
import { insertAll } from "../bare/BareTables.ts"
import { insertAllOnPostgres } from "../bare/barePostgres.ts"
import { compareRates } from "../compareRates.ts"
import { punctual } from "../PunctualWork.ts"
import { installPeers, peers } from "../peers/Peer.ts"
import { systemSide } from "../systemSide.ts"

const callers = 4
const bare = { sqlite: "bare inserts, SQLite", postgres: "bare inserts, PostgreSQL" }

export const P3: Benchmark = {
  id: "P3",
  title: "createMany of 1,000, 4 callers, durable, in process",
  uses: ["postgres"],
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 4_000 : 200_000
    if (scale.withPeers) await installPeers(progress)
    const others = scale.withPeers ? peers : []
    const rates = await compareRates(
      [
        ...[...punctual, ...others].map((system) =>
          systemSide(system, { work: "createMany", timers, callers }),
        ),
        {
          name: bare.sqlite,
          terms: "on disk: the tables of version 4, 1,000 per commit, nothing else",
          measure: async () => insertAll(timers),
        },
        {
          name: bare.postgres,
          terms: "on disk: same tables, 1,000 rows per statement, 4 connections",
          needs: ["postgres"],
          measure: () => insertAllOnPostgres(timers, callers),
        },
      ],
      scale,
      progress,
    )
    const [sqlite, postgres] = [rates.of("Punctual, SQLite"), rates.of("Punctual, PostgreSQL")]
    const best = rates.best(peers.map(({ name }) => name))
    return {
      rows: rates.rows,
      verdicts: [
        atLeast("SQLite, of bare inserts", sqlite / rates.of(bare.sqlite), 0.6),
        atLeast("PostgreSQL, of bare inserts", postgres / rates.of(bare.postgres), 0.6),
        ...(scale.withPeers ? [told("SQLite, of the best peer", sqlite / best)] : []),
      ],
    }
  },
}
