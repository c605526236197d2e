// Timers that fire at an even rate while very many others are pending, in process, on every system. P7 compares the
// result with its targets, and Lateness draws it. Filling the systems takes long, so one run of the bench does it once.
import type { Scale } from "./Benchmark.ts"
import { compareLateness, type Latenesses } from "./compareLateness.ts"
import { punctual } from "./PunctualWork.ts"
import { installPeers, peers } from "./peers/Peer.ts"

/** Filling stops after this time, even with fewer timers, because some systems need hours for a million. */
export const fillWithinMs = 120_000

/** How many timers are pending and how many fire, in process and over webhooks. In process all are created first. */
export const paceAmongMany = ({ isQuick }: Pick<Scale, "isQuick">) =>
  isQuick
    ? { pending: 2_000, perSecond: 200, seconds: 1, leadMs: 1_500 }
    : { pending: 1_000_000, perSecond: 1_000, seconds: 20, leadMs: 25_000 }

const runs = new Map<string, Promise<Latenesses>>()

/** Returns the earlier result of this process, if there is one. */
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
