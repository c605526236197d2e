// How late timers fire, system by system: at several rates, with few and many others pending, and all in the same
// millisecond. Measured where the handler is called, against the instant that was asked for.
import { type Benchmark, count, percentile, type Report, type Scale } from "../Benchmark.ts"
import { punctual } from "../PunctualWork.ts"
import { installPeers, type Peer, peers, type Work } from "../peers/Peer.ts"
import { percentilePlot } from "../plots/percentilePlot.ts"

interface Scene {
  readonly name: string
  readonly title: string
  readonly work: Work
}

const paced = (perSecond: number, pending: number, seconds: number): Scene => ({
  name: `${perSecond}-a-second-${pending}-pending`,
  title: `${count(perSecond)} a second, ${count(pending)} pending`,
  // Slow systems need longer to take the timers in than fast ones: all get the same time.
  work: { work: "paced", perSecond, seconds, pending, leadMs: 5_000 + perSecond * seconds },
})

const burst = (timers: number): Scene => ({
  name: `burst-of-${timers}`,
  title: `${count(timers)} in the same millisecond`,
  work: { work: "burst", timers, leadMs: 5_000 + timers },
})

const scenes = ({ isQuick }: Scale): ReadonlyArray<Scene> =>
  isQuick
    ? [paced(100, 10_000, 5), paced(1_000, 10_000, 5), burst(5_000)]
    : [
        paced(100, 10_000, 20),
        paced(1_000, 10_000, 20),
        paced(5_000, 10_000, 10),
        paced(1_000, 1_000_000, 20),
        burst(100_000),
      ]

const shown = [0.5, 0.9, 0.99, 0.999, 1]

export const Lateness: Benchmark = {
  id: "Lateness",
  title: "how late timers fire, as their handler sees it",
  run: async (scale, progress) => {
    if (scale.withPeers) await installPeers(progress)
    const systems = [...punctual, ...(scale.withPeers ? peers : [])]
    const rows: Array<Report["rows"][number]> = []
    const plots: Array<NonNullable<Report["plots"]>[number]> = []
    for (const scene of scenes(scale)) {
      const measured: Array<{ readonly name: string; readonly latenessMs: ReadonlyArray<number> }> = []
      for (const system of systems) {
        const result = await latenessOf(system, scene, scale.rounds, progress)
        rows.push({ name: `${scene.title}: ${system.name}`, values: result.text })
        if (result.latenessMs.length > 0) measured.push({ name: system.name, latenessMs: result.latenessMs })
      }
      plots.push({
        name: `lateness-${scene.name}`,
        svg: percentilePlot(`Lateness: ${scene.title}`, measured),
      })
    }
    return { rows, verdicts: [], plots }
  },
}

/** Over all rounds together. A system that cannot do the work is said to, and the others go on. */
const latenessOf = async (
  system: Peer,
  { title, work }: Scene,
  rounds: number,
  progress: (message: string) => void,
) => {
  const latenessMs: Array<number> = []
  try {
    for (let round = 1; round <= rounds; round++) {
      const result = await system.run(work)
      for (const late of result.latenessMs ?? []) latenessMs.push(late)
      progress(`${title}, ${system.name}, round ${round}/${rounds}: ${textOf(latenessMs)}`)
    }
    return { latenessMs, text: textOf(latenessMs) }
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : String(error)
    progress(`${title}, ${system.name}: ${why}`)
    return { latenessMs: [], text: `could not do it: ${why}` }
  }
}

const textOf = (latenessMs: ReadonlyArray<number>): string =>
  shown
    .map(
      (fraction) =>
        `${fraction === 1 ? "highest" : `p${fraction * 100}`} ${percentile(latenessMs, fraction)} ms`,
    )
    .join(", ")
