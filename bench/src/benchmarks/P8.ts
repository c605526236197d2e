// The cost of a thousand times as many pending timers. The real service on each store is filled from 10,000 to
// 10,000,000. At each level the benchmark measures rates, lateness, memory, disk and start-up. It always runs one round,
// because the fill takes long. On SQLite the rates of the lowest and the highest level have three rounds, each on a copy of the
// filled file.
import {
  atMost,
  type Benchmark,
  count,
  figure,
  leftOut,
  medianOf,
  percentile,
  type Report,
  type Row,
  type Verdict,
} from "../Benchmark.ts"
import { percentilePlot } from "../plots/percentilePlot.ts"
import { scalePlot } from "../plots/scalePlot.ts"
import { whyLeftOut } from "../Servers.ts"
import { type StoreKind, storeName } from "../Service.ts"
import { type Level, type ScaleRun, scaleRun } from "../scale/ScaleRun.ts"

const stores: ReadonlyArray<StoreKind> = ["sqlite", "postgres"]

export const P8: Benchmark = {
  id: "P8",
  title: "pending 10,000 → 10,000,000 (service over HTTP, webhook on loopback, random ids)",
  hasPeers: false,
  run: async ({ isQuick, stores: asked }, progress) => {
    const why = whyLeftOut(["postgres"])
    const runs: Array<Found> = []
    const chosen = stores.filter((store) => asked === undefined || asked.includes(store))
    for (const store of why === undefined ? chosen : chosen.filter((store) => store !== "postgres")) {
      runs.push({ store, ...(await scaleRun(store, "all", isQuick, progress)) })
    }
    return {
      rows: [
        ...runs.flatMap(rowsOf),
        ...(why === undefined ? [] : [{ name: storeName.postgres, values: leftOut(why) }]),
      ],
      verdicts: runs.flatMap(verdictsOf),
      plots: [...plotsOf(runs), ...runs.map(percentilesOf)],
    }
  },
}

interface Found extends ScaleRun {
  readonly store: StoreKind
}

interface Measure {
  readonly name: string
  readonly unit: string
  readonly decimals: number
  /** Undefined if the store does not have this measure. */
  readonly of: (level: Level) => number | undefined
  /** The value of each round, if there are several. */
  readonly rounds?: (level: Level) => ReadonlyArray<number>
}

/** The median of the windows, because other load on the machine may disturb a single window. */
const lateness = (fraction: number) => (level: Level) =>
  medianOf(level.latenessMs.map((window) => percentile(window, fraction)))

const measures = {
  creates: {
    name: "creates, 64 connections",
    unit: "/s",
    decimals: 0,
    of: (level) => medianOf(level.createsPerSecond),
    rounds: (level) => level.createsPerSecond,
  },
  written: {
    name: "written to the disk for each create",
    unit: " KiB",
    decimals: 1,
    of: ({ writtenEach }) => (writtenEach === undefined ? undefined : medianOf(writtenEach) / 1024),
    rounds: ({ writtenEach = [] }) => writtenEach.map((bytes) => bytes / 1024),
  },
  bulk: {
    name: "createMany of 1,000, 4 callers, at the end of the fill",
    unit: "/s",
    decimals: 0,
    of: (level) => level.bulkPerSecond,
  },
  p50: { name: "p50 lateness at 1,000 a second", unit: " ms", decimals: 1, of: lateness(0.5) },
  p99: { name: "p99 lateness at 1,000 a second", unit: " ms", decimals: 1, of: lateness(0.99) },
  p999: { name: "p99.9 lateness at 1,000 a second", unit: " ms", decimals: 1, of: lateness(0.999) },
  burst: {
    name: "burst due at once, until received",
    unit: "/s",
    decimals: 0,
    of: (level) => medianOf(level.burstPerSecond),
    rounds: (level) => level.burstPerSecond,
  },
  memory: { name: "resident memory", unit: " MiB", decimals: 0, of: (level) => level.residentMiB },
  serverMemory: {
    name: "resident memory of PostgreSQL's processes",
    unit: " MiB",
    decimals: 0,
    of: (level) => level.serverResidentMiB,
  },
  disk: { name: "disk", unit: " MiB", decimals: 0, of: (level) => level.diskBytes / 2 ** 20 },
  diskEach: {
    name: "disk for each timer added",
    unit: " B",
    decimals: 0,
    of: (level) => level.diskBytesEach,
  },
  ready: {
    name: "ready after a kill -9 and start",
    unit: " ms",
    decimals: 0,
    of: (level) => medianOf(level.startUps.map(({ readyMs }) => readyMs)),
  },
  fired: {
    name: "first due timer received after it",
    unit: " ms",
    decimals: 0,
    of: (level) => medianOf(level.startUps.map(({ firedMs }) => firedMs)),
  },
} satisfies Record<string, Measure>

const rowsOf = ({ store, levels, remarks }: Found): ReadonlyArray<Row> => [
  ...Object.values<Measure>(measures).flatMap(({ name, unit, decimals, of, rounds }) => {
    const known = levels.flatMap((level) => {
      const value = of(level)
      if (value === undefined) return []
      return [{ pending: count(level.pending), value, all: rounds?.(level) ?? [value] }]
    })
    const text = (value: number) => (Number.isNaN(value) ? "not measured" : number(value, decimals) + unit)
    const spread = (all: ReadonlyArray<number>) =>
      all.length < 2
        ? ""
        : ` (${number(Math.min(...all), decimals)} to ${number(Math.max(...all), decimals)})`
    const row: Row = {
      name: `${storeName[store]}: ${name}`,
      values: known.map(({ pending, value, all }) => `${text(value)}${spread(all)} at ${pending}`).join("; "),
      figures: known.map(({ pending, all }) => figure(`${name} at ${pending}`, unit.trim(), all)),
    }
    return known.length === 0 ? [] : [row]
  }),
  ...remarks.map((values) => ({ name: `${storeName[store]}: remark`, values })),
]

const number = (value: number, decimals: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })

const verdictsOf = ({ store, levels, isWhole }: Found): ReadonlyArray<Verdict> => {
  const first = levels.at(0)
  const last = levels.at(-1)
  if (first === undefined || last === undefined) throw new Error("nothing was measured")
  const span = `${storeName[store]}, ${count(first.pending)} to ${count(last.pending)}`
  const ratio = (of: Measure["of"]) => (of(last) ?? Number.NaN) / (of(first) ?? Number.NaN)
  const verdict = (label: string, value: number, target: string, isReached: boolean): Verdict => ({
    label: `${span}: ${label}`,
    value: `${value.toFixed(2)} ×`,
    target,
    isReached: isWhole && isReached,
  })
  const late = ratio(measures.p99.of)
  const memory = ratio(measures.memory.of)
  const creates = ratio(measures.creates.of)
  const burst = ratio(measures.burst.of)
  const written = measures.written.of(last)
  return [
    verdict("p99 lateness", late, "≤ 1.2 ×", late <= 1.2),
    verdict("resident memory", memory, "≤ 1.2 ×", memory <= 1.2),
    verdict("create rate", creates, "≥ 0.8 ×", creates >= 0.8),
    verdict("firing rate", burst, "≥ 0.8 ×", burst >= 0.8),
    ...(written === undefined ? [] : [atMost(`${span}: written for a create`, written, 5, "KiB")]),
  ]
}

interface PlotTerms {
  readonly name: string
  readonly title: string
  readonly subtitle: string
  readonly unit: string
  readonly shown: ReadonlyArray<{ readonly of: Measure["of"]; readonly suffix?: string }>
}

const plots: ReadonlyArray<PlotTerms> = [
  {
    name: "lateness",
    title: "Lateness against timers pending",
    subtitle: "1,000 webhooks a second as they are received; median of three windows; lower is better",
    unit: "ms late",
    shown: [
      { of: measures.p99.of, suffix: ", p99" },
      { of: measures.p50.of, suffix: ", p50" },
    ],
  },
  {
    name: "creates",
    title: "Creates against timers pending",
    subtitle: "durable single creates over HTTP on 64 connections; higher is better",
    unit: "a second",
    shown: [{ of: measures.creates.of }],
  },
  {
    name: "bulk",
    title: "Bulk creates against timers pending",
    subtitle: "timers a second by createMany of 1,000, 4 callers; higher is better",
    unit: "a second",
    shown: [{ of: measures.bulk.of }],
  },
  {
    name: "burst",
    title: "Firing rate against timers pending",
    subtitle: "many due in the same instant, until the webhook has received the last; higher is better",
    unit: "a second",
    shown: [{ of: measures.burst.of }],
  },
  {
    name: "memory",
    title: "Memory against timers pending",
    subtitle: "resident, of the service and of all processes of its database server; lower is better",
    unit: "MiB",
    shown: [{ of: measures.memory.of }, { of: measures.serverMemory.of, suffix: " server" }],
  },
  {
    name: "disk",
    title: "Disk for each timer against timers pending",
    subtitle: "what a fill added, indexes included, by timer; lower is better",
    unit: "bytes",
    shown: [{ of: measures.diskEach.of }],
  },
  {
    name: "start",
    title: "Restart against timers pending",
    subtitle: "from the start of a process whose predecessor was killed; lower is better",
    unit: "ms",
    shown: [
      { of: measures.fired.of, suffix: ", first timer" },
      { of: measures.ready.of, suffix: ", ready" },
    ],
  },
]

/** How late timers fire at each level, by percentile. */
const percentilesOf = ({ store, levels }: Found): Plot => ({
  name: `lateness-by-pending-${store}`,
  svg: percentilePlot(
    `How late timers fire: Punctual, ${storeName[store]}`,
    "1,000 webhooks a second as they are received, by timers pending; lower is better",
    levels.map(({ pending, latenessMs }, index) => ({
      name: `${count(pending)} pending`,
      latenessMs: latenessMs.flat(),
      isMain: index === levels.length - 1,
    })),
  ),
})

type Plot = NonNullable<Report["plots"]>[number]

const plotsOf = (runs: ReadonlyArray<Found>): ReadonlyArray<Plot> =>
  plots.map(({ name, title, subtitle, unit, shown }) => ({
    name: `scale-${name}`,
    svg: scalePlot(
      title,
      subtitle,
      unit,
      runs.flatMap(({ store, levels }) =>
        shown.map(({ of, suffix = "" }, index) => ({
          name: `${storeName[store]}${suffix}`,
          isSecond: index > 0,
          values: levels.map((level) => [level.pending, of(level) ?? Number.NaN] as const),
        })),
      ),
    ),
  }))
