// The same work on every database: that of P1, P3, P4, P7 and P8, in process, in one table. A short run measures first how
// fast a database is. The other runs then get as much work as it can do in a bounded time, and the table says how much.
import { type Benchmark, count, figure, leftOut, percentile, type Row, whyNot } from "../Benchmark.ts"
import { newPlace } from "../EngineOnDisk.ts"
import { punctualScript, punctualTerms } from "../PunctualWork.ts"
import { inChild } from "../peers/inChild.ts"
import type { Result, Work } from "../peers/works.ts"
import { whyLeftOut } from "../Servers.ts"
import { storeName } from "../Service.ts"
import { storeServers } from "../StoreServers.ts"

const callers = 64
/** How long each measurement of a rate should take. */
const secondsEach = 10
const leadMs = 120_000

interface Sizes {
  readonly probe: number
  readonly creates: number
  readonly bulk: number
  readonly burst: number
  readonly pending: number
  readonly perSecond: number
  readonly seconds: number
  readonly fillWithinMs: number
}

const full: Sizes = {
  probe: 500,
  creates: 30_000,
  bulk: 200_000,
  burst: 100_000,
  pending: 1_000_000,
  perSecond: 1_000,
  seconds: 20,
  // DynamoDB Local takes about 1,200 timers a second.
  fillWithinMs: 1_500_000,
}

const quick: Sizes = {
  probe: 50,
  creates: 200,
  bulk: 2_000,
  burst: 200,
  pending: 2_000,
  perSecond: 50,
  seconds: 1,
  fillWithinMs: 30_000,
}

/** A database of the table. */
interface Side {
  readonly id: string
  readonly name: string
  readonly terms: string
  readonly missing: string | undefined
  run(work: Work): Promise<Result>
}

const ownIds = ["sqlite", "postgres"] as const

/** What `--stores` takes. */
export const storeIds: ReadonlyArray<string> = [...ownIds, ...storeServers.map(({ id }) => id)]

const ownSides = (): ReadonlyArray<Side> =>
  ownIds.map((kind) => ({
    id: kind,
    name: storeName[kind],
    terms: punctualTerms[kind],
    missing: whyLeftOut(kind === "postgres" ? ["postgres"] : []),
    run: async (work) => {
      await using stack = new AsyncDisposableStack()
      return await inChild([punctualScript, kind, await newPlace(kind, stack)], work)
    },
  }))

const serverSides = (): ReadonlyArray<Side> =>
  storeServers.map(({ id, name, terms, kind }) => {
    const { missing, start } = kind()
    return {
      id,
      name,
      terms,
      missing,
      run: async (work) => {
        await using server = await start()
        const url = server.urlThrough(`${server.host}:${server.port}`)
        return await inChild([punctualScript, "url", url, String(server.shards)], work)
      },
    }
  })

const sidesOf = (asked: ReadonlyArray<string> | undefined): ReadonlyArray<Side> =>
  [...ownSides(), ...serverSides()].filter(({ id }) => asked === undefined || asked.includes(id))

const rowName = (measure: string, store: string): string => `${measure}: ${store}`

/** One measurement: its name in the table, its work for a database of this rate, and how its result is shown. */
interface Measure {
  readonly name: string
  readonly workOf: (createsPerSecond: number, sizes: Sizes) => Work
  readonly shown: (
    result: Result,
    work: Work,
  ) => { readonly text: string; readonly value: number; readonly unit: string }
}

const within = (least: number, value: number, most: number): number =>
  Math.round(Math.min(most, Math.max(least, value)))

const rate = ({ perSecond = Number.NaN, timers }: Result, work: Work) => ({
  text: `${count(perSecond)}/s (${count(timers ?? ("timers" in work ? work.timers : 0))} timers)`,
  value: perSecond,
  unit: "per second",
})

const measures: ReadonlyArray<Measure> = [
  {
    name: "P1, single creates, 64 callers",
    workOf: (perSecond, { creates, probe }) => ({
      work: "creates",
      timers: within(probe, perSecond * secondsEach, creates),
      callers,
    }),
    shown: rate,
  },
  {
    name: "P3, createMany of 1,000, 4 callers",
    workOf: (perSecond, { bulk }) => ({
      work: "createMany",
      timers: 1_000 * within(2, (perSecond * secondsEach) / 1_000, bulk / 1_000),
      callers: 4,
    }),
    shown: rate,
  },
  {
    name: "P4, due at once, until all are settled",
    workOf: (perSecond, { burst, probe }) => ({
      work: "burst",
      timers: within(probe, perSecond * secondsEach, burst),
      leadMs,
    }),
    shown: rate,
  },
  {
    name: "P7 and P8, many pending",
    workOf: (perSecond, { pending, seconds, fillWithinMs, creates, probe, ...sizes }) => ({
      work: "paced",
      pending,
      seconds,
      fillWithinMs,
      // A pace that the database can keep, because it also stores the result of each attempt.
      perSecond: within(5, perSecond / 4, sizes.perSecond),
      leadMs,
      creates: { timers: within(probe, perSecond * secondsEach, creates), callers },
    }),
    shown: ({ latenessMs = [], pending = 0, createsPerSecond }, work) => ({
      text:
        `late by p50 ${percentile(latenessMs, 0.5).toFixed(1)}, p99 ${percentile(latenessMs, 0.99).toFixed(1)} ms at ` +
        `${"perSecond" in work ? work.perSecond : 0}/s with ${count(pending)} pending; creates ` +
        `${count(createsPerSecond?.few ?? Number.NaN)}/s with a hundredth of them, ${count(createsPerSecond?.many ?? Number.NaN)}/s with all`,
      value: percentile(latenessMs, 0.99),
      unit: "ms, p99",
    }),
  },
]

export const Stores: Benchmark = {
  id: "Stores",
  title: "every database with the work of P1, P3, P4, P7 and P8, in process",
  note: "The servers are those of the tests. MongoDB is FerretDB, Cassandra is one node, DynamoDB is DynamoDB Local: these rows show the order of magnitude on this machine, not what the databases can do.",
  uses: ["postgres"],
  hasPeers: false,
  isOnlyOnRequest: true,
  rowOrder: measures.flatMap(({ name }) =>
    [storeName.sqlite, storeName.postgres, ...storeServers.map((server) => server.name)].map((store) =>
      rowName(name, store),
    ),
  ),
  run: async ({ isQuick, rounds, stores }, progress) => {
    const sizes = isQuick ? quick : full
    const sides = sidesOf(stores)
    const rates = new Map<string, number>()
    for (const { name, missing, run } of sides) {
      if (missing !== undefined) continue
      const { perSecond } = await run({ work: "creates", timers: sizes.probe, callers }).catch(() => ({
        perSecond: undefined,
      }))
      rates.set(name, perSecond ?? 1)
      progress(`${name}: about ${count(perSecond ?? Number.NaN)} creates/s`)
    }
    const rows: Array<Row> = []
    for (const measure of measures) {
      for (const side of sides) {
        const row = await measured(side, measure, { rounds, sizes, perSecond: rates.get(side.name) ?? 1 })
        rows.push(row)
        progress(`${row.name}: ${row.values}`)
      }
    }
    return { rows, verdicts: [] }
  },
}

const measured = async (
  { name, terms, missing, run }: Side,
  { name: measure, workOf, shown }: Measure,
  bounds: { readonly rounds: number; readonly sizes: Sizes; readonly perSecond: number },
): Promise<Row> => {
  const row = { name: rowName(measure, name), terms }
  if (missing !== undefined) return { ...row, values: leftOut(missing) }
  const work = workOf(bounds.perSecond, bounds.sizes)
  // The fill of the last measurement takes minutes, so it runs once.
  const times = work.work === "paced" ? 1 : bounds.rounds
  const found: Array<ReturnType<Measure["shown"]>> = []
  try {
    for (let round = 0; round < times; round++) found.push(shown(await run(work), work))
  } catch (error) {
    return { ...row, values: [...found.map(({ text }) => text), whyNot(error)].join("; ") }
  }
  const figures = found.map(({ value }) => value)
  const middle = [...found].sort((a, b) => a.value - b.value)[Math.floor(found.length / 2)]
  return {
    ...row,
    values: middle?.text ?? "",
    figures: [figure(measure, middle?.unit ?? "", figures)],
  }
}
