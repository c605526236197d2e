// Timers that fire evenly among very many that do not, in process, on every system: P7 judges it and Lateness draws it.
// Filling the systems takes long, so within one run of the bench it is done once.
import type { Scale } from "./Benchmark.ts"
import { compareLateness, type Latenesses } from "./compareLateness.ts"
import { punctual } from "./PunctualWork.ts"
import { installPeers, peers } from "./peers/Peer.ts"

/** What a system holds after this long is what it is measured with: some would take hours for a million. */
export const fillWithinMs = 120_000

/** How many are pending, and how many fire, in process and over webhooks alike; in process all are created before. */
export const paceAmongMany = ({ isQuick }: Pick<Scale, "isQuick">) =>
  isQuick
    ? { pending: 2_000, perSecond: 200, seconds: 1, leadMs: 1_500 }
    : { pending: 1_000_000, perSecond: 1_000, seconds: 20, leadMs: 25_000 }

const runs = new Map<string, Promise<Latenesses>>()

/** The one that was made before in this process, if there is one. */
export const latenessAmongMany = (scale: Scale, progress: (message: string) => void): Promise<Latenesses> => {
  const name = JSON.stringify(scale)
  const run = runs.get(name) ?? measured(scale, progress)
  runs.set(name, run)
  return run
}

const measured = async (scale: Scale, progress: (message: string) => void): Promise<Latenesses> => {
  if (scale.withPeers) await installPeers(progress)
  const { pending, perSecond, seconds, leadMs } = paceAmongMany(scale)
  const work = { work: "paced", pending, perSecond, seconds, leadMs, fillWithinMs } as const
  return await compareLateness(
    [...punctual, ...(scale.withPeers ? peers : [])].map(({ name, terms, needs, run }) => ({
      name,
      terms,
      needs,
      measure: () => run(work),
    })),
    { rounds: scale.rounds, pending, fillWithinMs },
    progress,
  )
}
