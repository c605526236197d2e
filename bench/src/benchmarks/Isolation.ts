// One namespace has a large overdue backlog for an endpoint that hangs. Another has a timer due every 10 ms for a good
// endpoint. The benchmark measures the lateness of the second namespace alone, beside the first one, and directly after
// a restart. It also measures the service's memory.
import {
  type Benchmark,
  count,
  figure,
  latenessText,
  leftOut,
  medianOf,
  percentile,
  type Report,
  type Row,
  whyNot,
} from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { whyLeftOut } from "../Servers.ts"
import { Service, type StoreKind, storeName } from "../Service.ts"

const everyMs = 10
/** Lateness below this is harmless, even if the namespace was much less late alone. */
const harmlessMs = 10

const scenes = ["alone", "beside the backlog", "straight after a restart"] as const

interface Scene {
  readonly latenessMs: ReadonlyArray<number>
  readonly residentMiB: number
}

type Measured = Readonly<Record<(typeof scenes)[number], Scene>>

export const Isolation: Benchmark = {
  id: "Isolation",
  title:
    "one namespace with a timer every 10 ms, another with 200,000 overdue timers for an endpoint that hangs",
  uses: ["postgres"],
  hasPeers: false,
  run: async ({ isQuick, rounds }, progress) => {
    const backlog = isQuick ? 1_000 : 200_000
    const timers = isQuick ? 20 : 2_000
    const measured: Record<StoreKind, Array<Measured>> = { sqlite: [], postgres: [] }
    const failures = new Map<StoreKind, string>()
    for (const kind of ["sqlite", "postgres"] as const) {
      const why = whyLeftOut(kind === "postgres" ? ["postgres"] : [])
      if (why !== undefined) failures.set(kind, leftOut(why))
    }
    for (let round = 1; round <= rounds; round++) {
      for (const kind of ["sqlite", "postgres"] as const) {
        if (failures.has(kind)) continue
        const say = (text: string) => progress(`round ${round}/${rounds}, ${storeName[kind]}, ${text}`)
        try {
          measured[kind].push(await measure(kind, backlog, timers, say))
        } catch (error) {
          failures.set(kind, whyNot(error))
        }
      }
    }
    const reports = (["sqlite", "postgres"] as const).map((kind) =>
      reportOf(kind, measured[kind], failures.get(kind), backlog),
    )
    return {
      rows: reports.flatMap(({ rows }) => rows),
      verdicts: reports.flatMap(({ verdicts }) => verdicts),
    }
  },
}

const measure = async (
  kind: StoreKind,
  backlog: number,
  timers: number,
  say: (text: string) => void,
): Promise<Measured> => {
  await using service = await Service.start(kind)
  await using receiver = await Receiver.start()
  const scene = async (name: (typeof scenes)[number]): Promise<Scene> => {
    const latenessMs = await latenessOf(service, receiver, timers)
    say(`${name}: ${latenessText(latenessMs)}`)
    return { latenessMs, residentMiB: await service.residentMiB() }
  }
  const alone = await scene("alone")
  const overdue = new Date(Date.now() - 3_600_000).toISOString()
  await service.createMany(backlog, () => ({
    namespace: "hog",
    executeAt: overdue,
    callbackUrl: receiver.hangingUrl,
  }))
  const beside = await scene("beside the backlog")
  await service.restart()
  const restarted = await scene("straight after a restart")
  return { alone, "beside the backlog": beside, "straight after a restart": restarted }
}

const reportOf = (
  kind: StoreKind,
  rounds: ReadonlyArray<Measured>,
  failure: string | undefined,
  backlog: number,
): Pick<Report, "rows" | "verdicts"> => {
  const failed: ReadonlyArray<Row> =
    failure === undefined ? [] : [{ name: `Punctual, ${storeName[kind]}`, values: failure }]
  if (rounds.length === 0) return { rows: failed, verdicts: [] }
  const p99 = (name: (typeof scenes)[number]) =>
    figure(
      "p99",
      "ms late",
      rounds.map((round) => percentile(round[name].latenessMs, 0.99)),
    )
  const limitMs = Math.max(harmlessMs, 2 * p99("alone").median)
  return {
    rows: [
      ...scenes.map((name): Row => {
        const residentMiB = medianOf(rounds.map((round) => round[name].residentMiB))
        const text = latenessText(rounds.flatMap((round) => round[name].latenessMs))
        return {
          name: `Punctual, ${storeName[kind]}, ${name.replace("the backlog", `${count(backlog)} overdue`)}`,
          values: `${text}; resident ${residentMiB.toFixed(0)} MiB`,
          figures: [p99(name)],
        }
      }),
      ...failed,
    ],
    verdicts: scenes.slice(1).map((name) => ({
      label: `${storeName[kind]}, p99 ${name}`,
      value: `${p99(name).median.toFixed(1)} ms`,
      target: `≤ ${limitMs.toFixed(1)} ms (twice what it was alone, or ${harmlessMs})`,
      isReached: p99(name).median <= limitMs,
    })),
  }
}

const latenessOf = async (
  service: Service,
  receiver: Receiver,
  timers: number,
): Promise<ReadonlyArray<number>> => {
  await receiver.forget()
  const firstDue = Date.now() + 500
  await service.createMany(timers, (index) => ({
    namespace: "good",
    executeAt: new Date(firstDue + index * everyMs).toISOString(),
    callbackUrl: receiver.timingUrl,
  }))
  await Bun.sleep(firstDue + timers * everyMs - Date.now())
  return receiver.latenessMs(timers, 60_000)
}
