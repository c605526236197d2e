// Compares sides of a benchmark that fire at the same rate, by the medians of their percentiles. The sides take turns,
// once per round. If a side lacks its server or fails, its row says so, and the others continue.
import { count, figure, leftOut, medianOf, percentile, type Row, whyNot } from "./Benchmark.ts"
import type { Result } from "./peers/Peer.ts"
import { type ServerName, whyLeftOut } from "./Servers.ts"

export interface LatenessSide {
  readonly name: string
  readonly terms?: string
  readonly needs?: ReadonlyArray<ServerName>
  readonly measure: () => Promise<Pick<Result, "latenessMs" | "pending">>
}

/** Lateness in milliseconds; NaN if it was not measured. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
  /** The earliest delivery of all rounds. */
  readonly earliest: number
}

export interface Latenesses {
  readonly rows: ReadonlyArray<Row>
  readonly of: (name: string) => Percentiles
  /** All values of a side, over all rounds. */
  readonly allOf: (name: string) => ReadonlyArray<number>
}

const shown = { p50: 0.5, p99: 0.99, "p99.9": 0.999, highest: 1 } as const

/** The work of every side. */
interface Terms {
  readonly rounds: number
  readonly pending: number
  /** How long a side may take to create the pending timers. */
  readonly fillWithinMs: number
}

interface Course {
  readonly side: LatenessSide
  readonly rounds: Array<ReadonlyArray<number>>
  pending?: number
  failure?: string
}

export const compareLateness = async (
  sides: ReadonlyArray<LatenessSide>,
  terms: Terms,
  progress: (message: string) => void,
): Promise<Latenesses> => {
  const { rounds } = terms
  const courses = sides.map((side): Course => {
    const why = whyLeftOut(side.needs ?? [])
    return { side, rounds: [], ...(why === undefined ? {} : { failure: leftOut(why) }) }
  })
  const steps = rounds * sides.length
  for (let round = 1; round <= rounds; round++) {
    for (const [index, course] of courses.entries()) {
      const said = course.failure ?? (await takeTurn(course))
      const step = (round - 1) * sides.length + index + 1
      progress(`step ${step}/${steps}, round ${round}/${rounds}, ${course.side.name}: ${said}`)
    }
  }
  const roundsOf = (name: string) => courses.find(({ side }) => side.name === name)?.rounds ?? []
  return {
    allOf: (name) => roundsOf(name).flat(),
    rows: courses.map((course) => rowOf(course, terms)),
    of: (name) => {
      const all = roundsOf(name)
      const median = (fraction: number) => medianOf(all.map((latenessMs) => percentile(latenessMs, fraction)))
      return { p50: median(0.5), p99: median(0.99), earliest: percentile(all.flat(), 0) }
    },
  }
}

const takeTurn = async (course: Course): Promise<string> => {
  try {
    const { latenessMs = [], pending } = await course.side.measure()
    course.rounds.push(latenessMs)
    if (pending !== undefined) course.pending = pending
    return Object.entries(shown)
      .map(([name, fraction]) => `${name} ${percentile(latenessMs, fraction).toFixed(1)} ms`)
      .join(", ")
  } catch (error) {
    course.failure = whyNot(error)
    return course.failure
  }
}

const rowOf = ({ side, rounds, pending: held, failure }: Course, { pending, fillWithinMs }: Terms): Row => {
  const figures =
    rounds.length === 0
      ? []
      : Object.entries(shown).map(([name, fraction]) =>
          figure(
            name,
            "ms late",
            rounds.map((latenessMs) => percentile(latenessMs, fraction)),
          ),
        )
  const texts = figures.map(({ measure, median, rounds: all }) => {
    const spread = `${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)}`
    return `${measure} ${median.toFixed(1)} ms (${spread})`
  })
  return {
    name:
      held === undefined || held >= pending
        ? side.name
        : `${side.name}, filled to ${count(held)} in ${fillWithinMs / 1_000} s`,
    ...(side.terms === undefined ? {} : { terms: side.terms }),
    values: [
      ...(texts.length === 0 ? [] : [texts.join(", ")]),
      ...(failure === undefined ? [] : [failure]),
    ].join("; "),
    figures,
  }
}
