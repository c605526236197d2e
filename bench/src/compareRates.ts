// Compares sides of a benchmark that do the same work, by the medians of their rates. The sides take turns, once per
// round. If a side lacks its server or fails, its row says so, and the others continue.
import { count, figure, leftOut, medianOf, type Row, type Scale, whyNot } from "./Benchmark.ts"
import { type ServerName, whyLeftOut } from "./Servers.ts"

export interface Side {
  readonly name: string
  readonly terms?: string
  readonly needs?: ReadonlyArray<ServerName>
  /** The rate per second, with a remark if the side could not do all of the work. */
  readonly measure: () => Promise<number | Measured>
}

export interface Measured {
  readonly perSecond: number
  readonly remark?: string
}

export interface Rates {
  readonly rows: ReadonlyArray<Row>
  /** The median rate of a side; NaN if it was not measured. */
  readonly of: (name: string) => number
  /** The highest median rate of these sides. */
  readonly best: (names: ReadonlyArray<string>) => number
}

interface Course {
  readonly side: Side
  readonly rates: Array<number>
  remark?: string
  failure?: string
}

export const compareRates = async (
  sides: ReadonlyArray<Side>,
  scale: Scale,
  progress: (message: string) => void,
): Promise<Rates> => {
  const courses = sides.map((side): Course => {
    const why = whyLeftOut(side.needs ?? [])
    return { side, rates: [], ...(why === undefined ? {} : { failure: leftOut(why) }) }
  })
  const steps = scale.rounds * sides.length
  for (let round = 1; round <= scale.rounds; round++) {
    for (const [index, course] of courses.entries()) {
      const step = (round - 1) * sides.length + index + 1
      const said = course.failure ?? (await takeTurn(course))
      progress(`step ${step}/${steps}, round ${round}/${scale.rounds}, ${course.side.name}: ${said}`)
    }
  }
  const of = (name: string): number => medianOf(courses.find(({ side }) => side.name === name)?.rates ?? [])
  return {
    rows: courses.map(rowOf),
    of,
    best: (names) => {
      const known = names.map(of).filter(Number.isFinite)
      return known.length === 0 ? Number.NaN : Math.max(...known)
    },
  }
}

/** A side that failed gets no further turns. The results of its earlier turns stay. */
const takeTurn = async (course: Course): Promise<string> => {
  try {
    const measured = await course.side.measure()
    const { perSecond, remark } = typeof measured === "number" ? { perSecond: measured } : measured
    course.rates.push(perSecond)
    if (remark !== undefined) course.remark = remark
    return `${count(perSecond)}/s${remark === undefined ? "" : ` (${remark})`}`
  } catch (error) {
    course.failure = whyNot(error)
    return course.failure
  }
}

const rowOf = ({ side, rates, remark, failure }: Course): Row => ({
  name: remark === undefined ? side.name : `${side.name} (${remark})`,
  ...(side.terms === undefined ? {} : { terms: side.terms }),
  values: [
    ...(rates.length === 0 ? [] : [ratesText(rates)]),
    ...(failure === undefined ? [] : [failure]),
  ].join("; "),
  figures: rates.length === 0 ? [] : [figure("rate", "per second", rates)],
})

const ratesText = (rates: ReadonlyArray<number>): string =>
  `${count(medianOf(rates))}/s (${count(Math.min(...rates))} to ${count(Math.max(...rates))})`
