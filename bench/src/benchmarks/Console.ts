// Whether open pages of the console make timers late. The same timers fire with readers and without, in turns.
import { availableParallelism } from "node:os"
import { chromiumBinary } from "@punctual/server/testkit/ChromiumBinary"
import { fillWithinMs } from "../amongMany.ts"
import { type Benchmark, count, figure, medianOf, type Row, told, type Verdict } from "../Benchmark.ts"
import { compareLateness, type LatenessSide } from "../compareLateness.ts"
import { type ConsoleTerms, type ConsoleTurn, consoleRun } from "../console/consoleRun.ts"
import { hardlyMore } from "../console/hardlyMore.ts"
import type { ReaderTerms } from "../console/ReaderTerms.ts"
import { countsText } from "../Tally.ts"

type Readers = Omit<ReaderTerms, "url">

const fullTerms: ConsoleTerms = {
  good: { perSecond: 1_000, seconds: 10, warmUpSeconds: 3, aheadMs: 1_000, graceMs: 10_000 },
  pending: 10_000,
  openForMs: 3_000,
}
const quickTerms: ConsoleTerms = {
  good: { perSecond: 200, seconds: 1, warmUpSeconds: 0, aheadMs: 200, graceMs: 5_000 },
  pending: 1_000,
  openForMs: 500,
}
const apiReaders = 20
const pages = 2
/** As many as this machine has cores. */
const busyLoops = availableParallelism()

export const Console: Benchmark = {
  id: "Console",
  title: "how late 1,000 timers a second are while 22 readers have the console open, SQLite",
  note: [
    "Each turn has a new service with 10,000 pending timers. The timers are created one second before they are due, for",
    "an endpoint that answers at once. 20 readers are clients of the API that do what an open page Timers does: they",
    "read the stream of events, list the first 50 rows again at most every 2 s, count 96 parts of a day every 10 s, and",
    "ask for the state of the service every 5 s. Two readers are real pages in Chromium. The pages are open before the",
    "first timer fires. All processes share the cores of this machine. In production readers use machines of their own,",
    "so all readers run with the lowest priority (nice 19). The third side shows what this still costs: it has no reader,",
    "and on each core a process of this priority that only computes.",
  ].join("\n"),
  uses: [],
  hasPeers: false,
  run: async ({ isQuick, rounds }, progress) => {
    const terms = isQuick ? quickTerms : fullTerms
    const readers = readersHere(progress)
    const without = new Side("no reader", terms)
    const watched = new Side(readersName(readers), { ...terms, readers })
    const busy = new Side("no reader, all cores busy", { ...terms, busyLoops })
    const sides = [without, watched, busy]
    const { rows, of } = await compareLateness(
      sides,
      { rounds, pending: terms.pending, fillWithinMs },
      progress,
    )
    const [late, lateWithout] = [of(watched.name), of(without.name)]
    return {
      rows: rows.map((row, index) => sides[index]?.rowOf(row) ?? row),
      verdicts: [
        told("p50 with readers, of without", late.p50 / lateWithout.p50),
        hardlyMore("p99 with readers, of without", late.p99, lateWithout.p99),
        told("p99 with all cores busy and no reader, of without", of(busy.name).p99 / lateWithout.p99),
        ...sides.flatMap((side) => side.lossVerdicts),
      ],
    }
  },
}

/** Without Chromium, clients of the API take the place of the real pages. */
const readersHere = (progress: (message: string) => void): Readers => {
  const binary = chromiumBinary()
  if (!("missing" in binary)) return { apiReaders, pages }
  progress(`without Chromium there are ${apiReaders + pages} clients of the API: ${binary.missing}`)
  return { apiReaders: apiReaders + pages, pages: 0 }
}

const readersName = (readers: Readers): string =>
  readers.pages === 0
    ? `${readers.apiReaders} readers of the API; no Chromium was found`
    : `${readers.apiReaders} readers of the API and ${readers.pages} pages in Chromium`

/** One side, and what its turns showed besides lateness. */
class Side implements LatenessSide {
  readonly name: string
  readonly #terms: ConsoleTerms
  readonly #turns: Array<ConsoleTurn> = []

  constructor(name: string, terms: ConsoleTerms) {
    this.name = name
    this.#terms = terms
  }

  readonly measure = async (): Promise<{ readonly latenessMs: ReadonlyArray<number> }> => {
    const turn = await consoleRun(this.#terms)
    this.#turns.push(turn)
    return turn
  }

  /** Adds the CPU time of the service and what the readers got. */
  rowOf(row: Row): Row {
    if (this.#turns.length === 0) return row
    const percents = this.#turns.map(({ coreShare }) => coreShare * 100)
    const got = countsText(this.#turns.map(({ readersGot }) => readersGot))
    return {
      ...row,
      values: `${row.values}; CPU time of the service ${medianOf(percents).toFixed(0)} % of a core`,
      terms:
        this.#terms.readers === undefined
          ? ""
          : `${medianOf(this.#turns.map(({ streams }) => streams))} streams open; the readers got ${got}`,
      figures: [...(row.figures ?? []), figure("CPU time of the service", "% of a core", percents)],
    }
  }

  /** Empty if no timer is missing. */
  get lossVerdicts(): ReadonlyArray<Verdict> {
    const lost = this.#turns.reduce((sum, { missing, notAccepted }) => sum + missing + notAccepted, 0)
    return lost === 0
      ? []
      : [{ label: `${this.name}: missing timers`, value: count(lost), target: "0", isReached: false }]
  }
}
