// Durable single creates in process, by 64 callers at once: Punctual on both its stores, and with --peers the others.
import { atLeast, type Benchmark, compareRates } from "../Benchmark.ts"
import { punctual } from "../PunctualWork.ts"
import { installPeers, peers } from "../peers/Peer.ts"

const callers = 64

export const P1: Benchmark = {
  id: "P1",
  title: "durable single creates in process, 64 callers",
  run: async (scale, progress) => {
    const timers = scale.isQuick ? 5_000 : 30_000
    if (scale.withPeers) await installPeers(progress)
    const sides = [...punctual, ...(scale.withPeers ? peers : [])]
    const rates = await compareRates(
      sides.map(({ name, terms, run }) => ({
        name: `${name} (${terms})`,
        perSecond: async () => (await run({ work: "creates", timers, callers })).perSecond ?? Number.NaN,
      })),
      scale,
      progress,
    )
    const [ours = Number.NaN] = rates.medians
    const others = rates.medians.slice(punctual.length)
    return {
      rows: rates.rows,
      verdicts: scale.withPeers ? [atLeast("SQLite, of the best peer", ours / Math.max(...others), 1.5)] : [],
    }
  },
}
