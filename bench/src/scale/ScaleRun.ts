// Fills one service on one store step by step, and measures it at each level. Filling takes most of the time. So if
// another benchmark in this process asks for the same run, it gets the results of the first run.
import { count, percentile, whyNot } from "../Benchmark.ts"
import { Receiver } from "../Receiver.ts"
import { Service, type StoreKind, storeName } from "../Service.ts"
import { burstRate, createRate, fill, latenessAt, notDueBefore, type StartUp, startUp } from "./ScaleWork.ts"

/** The results at one level. A figure that could not be measured is NaN. */
export interface Level {
  readonly pending: number
  readonly bulkPerSecond: number
  /** For each round. */
  readonly createsPerSecond: ReadonlyArray<number>
  /** What the service writes to disks for each create; undefined with a database server. */
  readonly writtenEach: ReadonlyArray<number> | undefined
  /** How late each timer was, for each measuring window. */
  readonly latenessMs: ReadonlyArray<ReadonlyArray<number>>
  readonly burstPerSecond: ReadonlyArray<number>
  readonly residentMiB: number
  /** The memory of all processes of the database server; undefined without a server. */
  readonly serverResidentMiB: number | undefined
  readonly diskBytes: number
  /** The disk space per timer that the fill of this level added. */
  readonly diskBytesEach: number
  readonly startUps: ReadonlyArray<StartUp>
}

export interface ScaleRun {
  readonly levels: ReadonlyArray<Level>
  /** Whether the run reached the highest level. Otherwise no target is reached. */
  readonly isWhole: boolean
  /** What went wrong during the run, as texts for the table. */
  readonly remarks: ReadonlyArray<string>
}

/** Either all levels with all measures, or only the highest level with lateness and start-up. */
export type Extent = "all" | "highest"

type Progress = (message: string) => void

const hourMs = 3_600_000
/** All fills and measures end long before this time. */
const firesAfterMs = 4 * hourMs
const fillWithinMs = 40 * 60_000
const perSecond = 1_000

const scaleOf = (isQuick: boolean) =>
  isQuick
    ? {
        levels: [1_000, 5_000],
        windows: 1,
        windowSeconds: 1,
        burst: 500,
        burstLeadMs: 1_500,
        createMs: 200,
        warmUpCreates: 500,
        startUps: 1,
        rounds: 2,
      }
    : {
        levels: [10_000, 100_000, 1_000_000, 10_000_000],
        windows: 3,
        windowSeconds: 20,
        burst: 20_000,
        burstLeadMs: 15_000,
        createMs: 10_000,
        // After this many creates the runtime has compiled the hot code.
        warmUpCreates: 20_000,
        startUps: 3,
        rounds: 3,
      }

const runs = new Map<string, Promise<ScaleRun>>()

/** Returns the earlier run of this process, if it includes the levels of this extent. */
export const scaleRun = (
  store: StoreKind,
  extent: Extent,
  isQuick: boolean,
  progress: Progress,
): Promise<ScaleRun> => {
  const name = (of: Extent) => `${store} ${of} ${isQuick}`
  const known = runs.get(name("all")) ?? runs.get(name(extent))
  if (known !== undefined) return known
  const run = measured(store, extent, isQuick, (message) => progress(`${storeName[store]}, ${message}`))
  runs.set(name(extent), run)
  return run
}

const measured = async (
  store: StoreKind,
  extent: Extent,
  isQuick: boolean,
  progress: Progress,
): Promise<ScaleRun> => {
  const scale = scaleOf(isQuick)
  // The highest level is at the default limit of a namespace.
  await using service = await Service.start(store, { TIMER_MAX_PENDING_PER_NAMESPACE: "100000000" })
  await using receiver = await Receiver.start()
  const run = new Run(service, receiver, { ...scale, hasFile: store === "sqlite" }, progress)
  const levels: Array<Level> = []
  for (const pending of extent === "all" ? scale.levels : scale.levels.slice(-1)) {
    try {
      const level = await run.level(pending, extent)
      levels.push(level)
      if (level.pending < pending) break
    } catch (error) {
      // The results of the earlier levels took long, so they stay.
      if (levels.length === 0) throw error
      run.remarks.push(`${count(pending)} pending: ${whyNot(error)}`)
      break
    }
  }
  const isWhole = (levels.at(-1)?.pending ?? 0) >= (scale.levels.at(-1) ?? 0)
  return { levels, isWhole, remarks: run.remarks }
}

/** With a file, the rates are measured in several rounds at the lowest and the highest level, each on a copy. */
type RunScale = ReturnType<typeof scaleOf> & { readonly hasFile: boolean }

class Run {
  readonly remarks: Array<string> = []
  readonly #service: Service
  readonly #receiver: Receiver
  readonly #scale: RunScale
  readonly #progress: Progress
  readonly #executeAtMs = notDueBefore(Date.now() + firesAfterMs)
  #pending = 0

  constructor(service: Service, receiver: Receiver, scale: RunScale, progress: Progress) {
    this.#service = service
    this.#receiver = receiver
    this.#scale = scale
    this.#progress = progress
  }

  async level(pending: number, extent: Extent): Promise<Level> {
    const filled = await this.#fillTo(pending)
    const at = `${count(this.#pending)} pending`
    const tell = (what: string) => this.#progress(`${at}: ${what}`)
    const reached = this.#pending
    const latenessMs: Array<ReadonlyArray<number>> = []
    for (let window = 1; window <= this.#scale.windows; window++) {
      const terms = { perSecond, seconds: this.#scale.windowSeconds }
      const late = await this.#tried(
        at,
        "lateness",
        () => latenessAt(this.#service, this.#receiver, terms),
        [],
      )
      if (late.length > 0) latenessMs.push(late)
      tell(`p50 ${percentile(late, 0.5).toFixed(1)} ms, p99 ${percentile(late, 0.99).toFixed(1)} ms late`)
    }
    const rates = extent === "all" ? await this.#rates(at, pending) : noRates
    if (extent === "all")
      tell(
        `${listed(rates.burstPerSecond)}/s of a burst, ${listed(rates.createsPerSecond)} creates/s, ` +
          `${listed(rates.writtenEach ?? [])} bytes written each`,
      )
    const residentMiB = await this.#tried(at, "memory", () => this.#service.residentMiB(), Number.NaN)
    const serverResidentMiB = await this.#tried(
      at,
      "memory",
      () => this.#service.serverResidentMiB(),
      undefined,
    )
    tell(`resident ${residentMiB.toFixed(0)} MiB`)
    const starts: Array<StartUp> = []
    for (let start = 1; start <= this.#scale.startUps; start++) {
      const found = await this.#tried(at, "start-up", () => startUp(this.#service, this.#receiver), undefined)
      if (found === undefined) continue
      starts.push(found)
      tell(`ready ${found.readyMs.toFixed(0)} ms after its start, fires after ${found.firedMs.toFixed(0)} ms`)
    }
    return {
      pending: reached,
      ...filled,
      ...rates,
      latenessMs,
      residentMiB,
      serverResidentMiB,
      startUps: starts,
    }
  }

  async #fillTo(pending: number): Promise<Pick<Level, "bulkPerSecond" | "diskBytes" | "diskBytesEach">> {
    const before = await this.#service.diskBytes()
    const {
      created,
      repeats,
      perSecond: bulkPerSecond,
    } = await fill(this.#service, {
      timers: pending - this.#pending,
      executeAtMs: this.#executeAtMs,
      url: this.#receiver.plainUrl,
      withinMs: fillWithinMs,
      progress: (message) => this.#progress(`filling: ${message}`),
    })
    this.#pending += created
    if (repeats > 0)
      this.remarks.push(
        `${repeats} calls of the fill to ${count(pending)} were refused at first and repeated`,
      )
    if (this.#pending < pending) {
      const bound = `${fillWithinMs / 60_000} min`
      this.remarks.push(`filled to ${count(this.#pending)} of ${count(pending)} within ${bound}`)
    }
    await this.#mustHold()
    const diskBytes = await this.#service.diskBytes()
    this.#progress(
      `${count(this.#pending)} pending: ${count(bulkPerSecond)}/s at last, ${count(diskBytes / 2 ** 20)} MiB`,
    )
    return { bulkPerSecond, diskBytes, diskBytesEach: (diskBytes - before) / created }
  }

  /** Compares the expected number of pending timers with the service's own count. A wrong level must not be measured. */
  async #mustHold(): Promise<void> {
    const text = await (await fetch(`${this.#service.url}/metrics`)).text()
    const held = Number(/^timer_pending (\S+)$/m.exec(text)?.[1] ?? Number.NaN)
    if (held < this.#pending || Number.isNaN(held))
      throw new Error(`the service holds ${held} timers instead of ${this.#pending}`)
  }

  async #rates(at: string, pending: number): Promise<Rates> {
    const { levels, rounds, hasFile } = this.#scale
    const isInRounds = hasFile && (pending === levels.at(0) || pending === levels.at(-1))
    if (!isInRounds) return await this.#ratesOnce(at)
    await this.#service.keepFile()
    const found: Array<Rates> = []
    for (let round = 0; round < rounds; round++) {
      await this.#service.startOnKeptFile()
      const before = this.#pending
      found.push(await this.#ratesOnce(at))
      // The next copy does not have what this round has created.
      if (round < rounds - 1) this.#pending = before
    }
    return {
      burstPerSecond: found.flatMap(({ burstPerSecond }) => burstPerSecond),
      createsPerSecond: found.flatMap(({ createsPerSecond }) => createsPerSecond),
      writtenEach: found.flatMap(({ writtenEach }) => writtenEach ?? []),
    }
  }

  /** Creates come last. The timers that they add are part of the next level, and at most a few times this level. */
  async #ratesOnce(at: string): Promise<Rates> {
    const { burst: timers, burstLeadMs: leadMs, createMs: ms, warmUpCreates, hasFile } = this.#scale
    const burstPerSecond = await this.#tried(
      at,
      "the burst",
      () => burstRate(this.#service, this.#receiver, { timers, leadMs }),
      Number.NaN,
    )
    const terms = { executeAtMs: this.#executeAtMs, url: this.#receiver.plainUrl, ms }
    const { perSecond, created, writtenBytes } = await this.#tried(
      at,
      "creates",
      () =>
        createRate(this.#service, { ...terms, warmUpCreates, most: Math.min(4 * this.#pending, 400_000) }),
      { perSecond: Number.NaN, created: 0, writtenBytes: Number.NaN },
    )
    this.#pending += created
    return {
      burstPerSecond: [burstPerSecond],
      createsPerSecond: [perSecond],
      writtenEach: hasFile ? [writtenBytes / created] : undefined,
    }
  }

  /** A measure that fails becomes a remark. The others continue, because the fill before them took long. */
  async #tried<A>(at: string, what: string, measure: () => Promise<A>, otherwise: A): Promise<A> {
    try {
      return await measure()
    } catch (error) {
      const why = whyNot(error)
      this.remarks.push(`at ${at}, ${what}: ${why}`)
      this.#progress(`${at}, ${what}: ${why}`)
      return otherwise
    }
  }
}

type Rates = Pick<Level, "burstPerSecond" | "createsPerSecond" | "writtenEach">

const noRates: Rates = { burstPerSecond: [], createsPerSecond: [], writtenEach: undefined }

const listed = (values: ReadonlyArray<number>): string => values.map(count).join(", ")
