// A compared system, Punctual or a peer, as a side of a benchmark that measures a rate per second.
import { count } from "./Benchmark.ts"
import type { Side } from "./compareRates.ts"
import type { Peer, Work } from "./peers/Peer.ts"

export const systemSide = (
  { name, terms, needs, run }: Peer,
  work: Exclude<Work, { work: "paced" }>,
): Side => ({
  name,
  terms,
  needs,
  measure: async () => {
    const { perSecond = Number.NaN, timers = work.timers } = await run(work)
    return timers === work.timers
      ? perSecond
      : { perSecond, remark: `only ${count(timers)}: the system could not create more in time` }
  },
})
