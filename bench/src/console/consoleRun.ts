// One turn of the benchmark Console: timers fire from a new service, with readers or without.
import { eventually } from "@punctual/server/testkit/eventually"
import { GoodNamespace, type GoodResult, type GoodTerms } from "../isolation/GoodNamespace.ts"
import { LowPriorityProcess } from "../LowPriorityProcess.ts"
import { Receiver } from "../Receiver.ts"
import { Service } from "../Service.ts"
import { samplePayload } from "../samplePayload.ts"
import type { Counts } from "../Tally.ts"
import { farAhead } from "../work.ts"
import type { ReaderTerms } from "./ReaderTerms.ts"

export interface ConsoleTerms {
  readonly good: GoodTerms
  /** How many other timers are pending. They are due within the span that the console shows first. */
  readonly pending: number
  /** How long all pages are open before the first timer is created. */
  readonly openForMs: number
  readonly readers?: Omit<ReaderTerms, "url">
  /** How many processes of the lowest priority only compute. */
  readonly busyLoops?: number
}

export interface ConsoleTurn extends GoodResult {
  /** The CPU time of the service while the timers fired, as a part of one core. */
  readonly coreShare: number
  /** How many streams of events were open at the end. */
  readonly streams: number
  readonly readersGot: Counts
}

const script = new URL("./readers.ts", import.meta.url)
const busyScript = new URL("./busyLoops.ts", import.meta.url)
/** How long such a process may live besides the measured time. */
const spareSeconds = 120
/** With the lowest priority, Chromium may take long. */
const pagesOpenWithinMs = 60_000
/** Nothing listens there, and no timer is due before the end. */
const nowhere = "http://127.0.0.1:9/"

export const consoleRun = async (terms: ConsoleTerms): Promise<ConsoleTurn> => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await Service.start())
  const receiver = stack.use(await Receiver.start())
  await service.createMany(terms.pending, (index) => ({
    namespace: `others-${index % 10}`,
    executeAt: new Date(farAhead()).toISOString(),
    callbackUrl: nowhere,
    payload: samplePayload,
  }))
  const readers = await openReaders(stack, service, terms)
  for (let loop = 0; loop < (terms.busyLoops ?? 0); loop++) {
    stack.use(await LowPriorityProcess.prepare(busyScript, {}, { seconds: lifeSeconds(terms) })).go()
  }
  const cpuBefore = await service.cpuMicros()
  const startedAt = performance.now()
  const result = await new GoodNamespace(service.url, receiver).run(terms.good)
  const coreShare = ((await service.cpuMicros()) - cpuBefore) / 1_000 / (performance.now() - startedAt)
  const streams = await openStreams(service)
  return { ...result, coreShare, streams, readersGot: (await readers?.stop()) ?? {} }
}

/** The pages stay open until the process is stopped. */
const openReaders = async (
  stack: AsyncDisposableStack,
  service: Service,
  consoleTerms: ConsoleTerms,
): Promise<LowPriorityProcess | undefined> => {
  const { readers, openForMs } = consoleTerms
  if (readers === undefined) return undefined
  const terms: ReaderTerms = { ...readers, url: service.url }
  const seconds = lifeSeconds(consoleTerms)
  const started = stack.use(await LowPriorityProcess.prepare(script, terms, { seconds }))
  started.go()
  await eventually(
    "all pages have their streams",
    async () => ((await openStreams(service)) === readers.apiReaders + readers.pages ? true : undefined),
    pagesOpenWithinMs,
  )
  await Bun.sleep(openForMs)
  return started
}

const lifeSeconds = ({ good }: ConsoleTerms): number =>
  good.warmUpSeconds + good.seconds + good.graceMs / 1_000 + spareSeconds

const openStreams = async (service: Service): Promise<number> =>
  Number(/^timer_event_readers (\d+)$/m.exec(await service.metrics())?.[1] ?? Number.NaN)
