// How late each system fires timers: at several rates, with few and many others pending, all in the same millisecond, and
// after a kill -9. Lateness is the time from the requested instant to the call of the handler. P8 measures it with ten
// million pending timers, only for Punctual, because the peers would need hours to create them.
import { fillWithinMs, latenessAmongMany, paceAmongMany } from "../amongMany.ts"
import {
  type Benchmark,
  count,
  figure,
  leftOut,
  percentile,
  type Report,
  type Row,
  type Scale,
  whyNot,
} from "../Benchmark.ts"
import type { KillTerms } from "../kill/killAndRestart.ts"
import { punctual } from "../PunctualWork.ts"
import { afterKill } from "../peers/afterKill.ts"
import { installPeers, type Peer, peers, type Work } from "../peers/Peer.ts"
import { percentilePlot, type Series } from "../plots/percentilePlot.ts"
import { whyLeftOut } from "../Servers.ts"

type Progress = (message: string) => void

interface Scene {
  readonly name: string
  readonly title: string
  /** Whether the scene runs only Punctual. A smoke run has no time for more. */
  readonly isOfPunctualAlone?: boolean
  /** One turn of one system. */
  readonly run: (system: Peer) => Promise<Turn>
}

interface Turn {
  readonly latenessMs: ReadonlyArray<number>
  /** How the system's work differed from the request. */
  readonly remarks: ReadonlyArray<string>
  /** The timers that were not delivered in time, and the repeated deliveries. */
  readonly losses?: { readonly undelivered: number; readonly repeated: number }
}

const paced = (
  perSecond: number,
  pending: number,
  seconds: number,
  // Slow systems need longer to create the timers than fast ones. All get the same time.
  leadMs: number = 5_000 + perSecond * seconds,
): Scene => {
  const work: Work = { work: "paced", perSecond, seconds, pending, leadMs, fillWithinMs }
  return {
    name: `${perSecond}-a-second-${pending}-pending`,
    title: `${count(perSecond)} a second, ${count(pending)} pending`,
    run: async (system) => {
      const { latenessMs = [], pending: held = pending } = await system.run(work)
      const isFull = held >= pending
      return {
        latenessMs,
        remarks: isFull
          ? []
          : [`only ${count(held)} pending: the system created no more in ${fillWithinMs / 1_000} s`],
      }
    },
  }
}

const burst = (timers: number): Scene => ({
  name: `burst-of-${timers}`,
  title: `${count(timers)} in the same millisecond`,
  run: async (system) => {
    const result = await system.run({ work: "burst", timers, leadMs: 5_000 + timers })
    const { latenessMs = [], timers: taken = timers } = result
    return {
      latenessMs,
      remarks: taken < timers ? [`only ${count(taken)}: the system created no more in time`] : [],
    }
  },
})

const killed = (terms: KillTerms): Scene => ({
  name: "after-a-kill",
  title: `${count(terms.perSecond)} a second, the ${terms.windowSeconds} s after a kill -9`,
  run: async ({ name }) => {
    const { latenessMs, ...losses } = await afterKill(name, terms)
    return { latenessMs, remarks: [], losses }
  },
})

const scenes = ({ isQuick }: Scale): ReadonlyArray<Scene> =>
  isQuick
    ? [
        paced(100, 1_000, 1, 1_500),
        burst(500),
        {
          ...killed({ perSecond: 100, beforeSeconds: 1, windowSeconds: 4, leastLeadMs: 1_500 }),
          isOfPunctualAlone: true,
        },
      ]
    : [
        paced(100, 10_000, 20),
        paced(1_000, 10_000, 20),
        paced(5_000, 10_000, 10),
        burst(100_000),
        killed({ perSecond: 1_000, beforeSeconds: 5, windowSeconds: 60, leastLeadMs: 10_000 }),
      ]

export const Lateness: Benchmark = {
  id: "Lateness",
  title: "how late timers fire, as their handler sees it",
  run: async (scale, progress) => {
    if (scale.withPeers) await installPeers(progress)
    const systems = [...punctual, ...(scale.withPeers ? peers : [])]
    const reports: Array<SceneReport> = []
    for (const scene of scenes(scale)) reports.push(await play(scene, systems, scale.rounds, progress))
    reports.push(await amongMany(scale, systems, progress))
    return {
      rows: reports.flatMap(({ rows }) => rows),
      verdicts: [],
      plots: reports.flatMap(({ plot }) => (plot === undefined ? [] : [plot])),
    }
  },
}

interface SceneReport {
  readonly rows: ReadonlyArray<Row>
  readonly plot: NonNullable<Report["plots"]>[number] | undefined
}

interface Course {
  readonly system: Peer
  /** The turn of each round. */
  readonly turns: Array<Turn>
  failure?: string
}

/** Each system runs once per round, in turns, so that other load on the machine affects all of them. */
const play = async (
  scene: Scene,
  systems: ReadonlyArray<Peer>,
  rounds: number,
  progress: Progress,
): Promise<SceneReport> => {
  const playing = scene.isOfPunctualAlone === true ? punctual : systems
  const courses = playing.map((system): Course => {
    const why = whyLeftOut(system.needs)
    return { system, turns: [], ...(why === undefined ? {} : { failure: leftOut(why) }) }
  })
  for (let round = 1; round <= rounds; round++) {
    for (const course of courses) {
      const said = course.failure ?? (await takeTurn(course, scene))
      progress(`${scene.title}, round ${round}/${rounds}, ${course.system.name}: ${said}`)
    }
  }
  const series = courses.map(({ system, turns }) => ({
    name: system.name,
    latenessMs: turns.flatMap(({ latenessMs }) => latenessMs),
    isMain: punctual.includes(system),
  }))
  return {
    rows: courses.map((course) => rowOf(course, scene)),
    plot: plotOf(scene.name, scene.title, series),
  }
}

/** If a system cannot do the work, its row says so, and it gets no further turns. The others continue. */
const takeTurn = async (course: Course, { run }: Scene): Promise<string> => {
  try {
    const turn = await run(course.system)
    course.turns.push(turn)
    return turnsText([turn])
  } catch (error) {
    course.failure = whyNot(error)
    return course.failure
  }
}

const rowOf = ({ system, turns, failure }: Course, { title }: Scene): Row => {
  const of = (fraction: number) => turns.map(({ latenessMs }) => percentile(latenessMs, fraction))
  return {
    name: `${title}: ${system.name}`,
    terms: system.terms,
    values: [
      ...(turns.length === 0 ? [] : [turnsText(turns)]),
      ...(failure === undefined ? [] : [failure]),
    ].join("; "),
    figures: turns.length === 0 ? [] : shown.map((fraction) => figure(nameOf(fraction), "ms", of(fraction))),
  }
}

const turnsText = (turns: ReadonlyArray<Turn>): string => {
  const all = turns.flatMap(({ latenessMs }) => latenessMs)
  const losses = turns.flatMap((turn) => (turn.losses === undefined ? [] : [turn.losses]))
  const sum = (of: "undelivered" | "repeated") => count(losses.reduce((total, each) => total + each[of], 0))
  return [
    textOf(all),
    ...(losses.length === 0
      ? []
      : [`${sum("undelivered")} of ${count(all.length)} not delivered, ${sum("repeated")} repeated`]),
    ...new Set(turns.flatMap(({ remarks }) => remarks)),
  ].join("; ")
}

const amongMany = async (
  scale: Scale,
  systems: ReadonlyArray<Peer>,
  progress: Progress,
): Promise<SceneReport> => {
  const { pending, perSecond } = paceAmongMany(scale)
  const title = `${count(perSecond)} a second, ${count(pending)} pending`
  const lateness = await latenessAmongMany(scale, progress)
  const series = systems.map((system) => ({
    name: system.name,
    latenessMs: lateness.allOf(system.name),
    isMain: punctual.includes(system),
  }))
  return {
    rows: lateness.rows.map((row) => ({ ...row, name: `${title}: ${row.name}` })),
    plot: plotOf(`${perSecond}-a-second-${pending}-pending`, title, series),
  }
}

const plotOf = (name: string, title: string, series: ReadonlyArray<Series>): SceneReport["plot"] => {
  const measured = series.filter(({ latenessMs }) => latenessMs.length > 0)
  return measured.length === 0
    ? undefined
    : {
        name: `lateness-${name}`,
        svg: percentilePlot(
          "How late timers fire",
          `${title}; as the handler sees it; lower is better`,
          measured,
        ),
      }
}

const shown = [0.5, 0.9, 0.99, 0.999, 1]

const nameOf = (fraction: number): string => (fraction === 1 ? "highest" : `p${fraction * 100}`)

const textOf = (latenessMs: ReadonlyArray<number>): string =>
  shown.map((fraction) => `${nameOf(fraction)} ${percentile(latenessMs, fraction).toFixed(1)} ms`).join(", ")
