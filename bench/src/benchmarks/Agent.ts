// The Service Agent beside the same work on a job queue: how many calls it accepts and makes in a second, how soon a call
// for now reaches its service, and how soon an open page hears of a change.

import { agentOnSqlite, bullAlwaysSynced, type CallMaker, callMakers } from "../agent/CallMaker.ts"
import { type CallFigures, doCallWork } from "../agent/callWork.ts"
import {
  atMost,
  type Benchmark,
  count,
  type Figure,
  figure,
  leftOut,
  percentile,
  type Row,
  told,
  whyNot,
} from "../Benchmark.ts"
import { installPeers } from "../peers/Peer.ts"
import { Receiver } from "../Receiver.ts"
import { whyLeftOut } from "../Servers.ts"

const fullWork = { submits: 5_000, nows: 2_000, perSecond: 50, seconds: 20 }
const quickWork = { submits: 200, nows: 100, perSecond: 20, seconds: 2 }
const mostSubmitMs = 20
const mostEventMs = 200

interface Course {
  readonly maker: CallMaker
  readonly rounds: Array<CallFigures>
  failure?: string
}

export const Agent: Benchmark = {
  id: "Agent",
  title: "the Service Agent and the same work on a job queue",
  note: `Calls of 20 tenants to a service on loopback: ${count(fullWork.submits)} submits of calls that are due in an hour or two, and ${count(fullWork.nows)} calls for now until the service has received all, both on 64 connections; then ${fullWork.perSecond} calls for now per second for ${fullWork.seconds} s. Of these, the table shows the time from the request to its 202, from the 202 to the request at the service (negative if the request came first), and from a change of a call to its event on one of five open streams.`,
  uses: ["postgres"],
  run: async ({ isQuick, rounds, withPeers }, progress) => {
    if (withPeers) await installPeers(progress)
    await using receiver = await Receiver.start()
    const courses = callMakers
      .filter(({ isPeer }) => withPeers || !isPeer)
      .map((maker): Course => {
        const why = whyLeftOut(maker.needs)
        return { maker, rounds: [], ...(why === undefined ? {} : { failure: leftOut(why) }) }
      })
    for (let round = 1; round <= rounds; round++) {
      for (const course of courses) {
        const said = course.failure ?? (await takeTurn(course, receiver, isQuick ? quickWork : fullWork))
        progress(`round ${round} of ${rounds}, ${course.maker.name}: ${said}`)
      }
    }
    const figures = new Map(courses.map((course) => [course.maker, figuresOf(course.rounds)]))
    const median = (maker: CallMaker, measure: string): number =>
      figures.get(maker)?.find((one) => one.measure === measure)?.median ?? Number.NaN
    const ofBull = (measure: string) => median(agentOnSqlite, measure) / median(bullAlwaysSynced, measure)
    return {
      rows: courses.map((course) => rowOf(course, figures.get(course.maker) ?? [])),
      verdicts: [
        atMost("SQLite, a submit is answered, p99", median(agentOnSqlite, submitP99), mostSubmitMs, "ms"),
        atMost("SQLite, a change on an open stream, p99", median(agentOnSqlite, eventP99), mostEventMs, "ms"),
        told(`SQLite, submits, of ${bullAlwaysSynced.name}`, ofBull(submits)),
        told(`SQLite, calls for now, of ${bullAlwaysSynced.name}`, ofBull(nows)),
        told(`SQLite, 202 to the service, p99, of ${bullAlwaysSynced.name}`, ofBull(arrivalP99)),
      ],
    }
  },
}

/** A system that failed gets no further turns. The results of its earlier turns stay. */
const takeTurn = async (course: Course, receiver: Receiver, work: typeof fullWork): Promise<string> => {
  const { maker, rounds } = course
  await using stack = new AsyncDisposableStack()
  try {
    const url = await maker.start(stack)
    rounds.push(await doCallWork({ ...work, url, receiver, isAgent: !maker.isPeer }))
    return textOf(figuresOf(rounds.slice(-1)))
  } catch (error) {
    course.failure = whyNot(error)
    return course.failure
  }
}

const submits = "submits"
const nows = "calls for now"
const submitP99 = "submit p99"
const arrivalP99 = "202 to the service p99"
const eventP99 = "change to event p99"

const figuresOf = (rounds: ReadonlyArray<CallFigures>): ReadonlyArray<Figure> => {
  const ms = (measure: string, all: (round: CallFigures) => ReadonlyArray<number>, fraction: number) =>
    figure(
      measure,
      "ms",
      rounds.map((round) => percentile(all(round), fraction)),
    )
  const figures = [
    figure(
      submits,
      "per second",
      rounds.map(({ submitsPerSecond }) => submitsPerSecond),
    ),
    figure(
      nows,
      "per second",
      rounds.map(({ nowsPerSecond }) => nowsPerSecond),
    ),
    ms("submit p50", ({ submitMs }) => submitMs, 0.5),
    ms(submitP99, ({ submitMs }) => submitMs, 0.99),
    ms("202 to the service p50", ({ arrivalMs }) => arrivalMs, 0.5),
    ms(arrivalP99, ({ arrivalMs }) => arrivalMs, 0.99),
    ms("change to event p50", ({ eventMs }) => eventMs, 0.5),
    ms(eventP99, ({ eventMs }) => eventMs, 0.99),
  ]
  // A system without streams has no events.
  return figures.filter(({ median }) => Number.isFinite(median))
}

const textOf = (figures: ReadonlyArray<Figure>): string =>
  figures
    .map(({ measure, unit, median, rounds }) => {
      const shown = (value: number) => (unit === "ms" ? value.toFixed(1) : count(value))
      const spread =
        rounds.length < 2 ? "" : ` (${shown(Math.min(...rounds))} to ${shown(Math.max(...rounds))})`
      return `${measure} ${shown(median)}${unit === "ms" ? " ms" : "/s"}${spread}`
    })
    .join(", ")

const rowOf = ({ maker: { name, terms }, failure }: Course, figures: ReadonlyArray<Figure>): Row => ({
  name,
  terms,
  values: [
    ...(figures.length === 0 ? [] : [textOf(figures)]),
    ...(failure === undefined ? [] : [failure]),
  ].join("; "),
  figures,
})
