// The pieces of work that Punctual and its peers do, each in a separate process. The same code counts and takes the time
// for all of them. An adapter makes each one a `System`: for the peers in bench/peers/systems, for Punctual in
// PunctualSystem.ts.
import { randomUUID } from "node:crypto"
import { samplePayload } from "../samplePayload.ts"

export interface Due {
  readonly id: string
  readonly dueAtMs: number
}

export interface System {
  ready(): Promise<void>
  /** Resolves when the system has stored the timer, as durably as its terms say. */
  add(id: string, dueAtMs: number, payload: object): Promise<unknown>
  addMany(timers: ReadonlyArray<Due>, payload: object): Promise<unknown>
  /** From now on the system handles due timers. The handler only reports the id. */
  start(onFired: (id: string) => void): Promise<unknown>
  /** The number of timers, handled or not, that the system's store does not show as done yet. */
  unsettled(): Promise<number>
  close(): Promise<unknown>
}

export type Work =
  /** Single creates by this number of callers at once. */
  | { readonly work: "creates"; readonly timers: number; readonly callers: number }
  /** Creates of a thousand timers per call, by this number of callers at once. */
  | { readonly work: "createMany"; readonly timers: number; readonly callers: number }
  /** Many timers due in the same instant. A system may take up to `leadMs` to create them. */
  | {
      readonly work: "burst"
      readonly timers: number
      readonly leadMs: number
      /** For bursts in several processes, which must compete. Otherwise as soon as the timers can be created. */
      readonly dueAtMs?: number
    }
  /**
   * An even rate of timers while others are pending: as many as asked for, or as many as the system can create within
   * `fillWithinMs`. `leadMs` has the same meaning as for a burst.
   */
  | {
      readonly work: "paced"
      readonly perSecond: number
      readonly seconds: number
      readonly pending: number
      readonly leadMs: number
      readonly fillWithinMs?: number
      /** Also measures single creates by this number of callers: when a hundredth is filled, and when all is. */
      readonly creates?: { readonly timers: number; readonly callers: number }
    }

export interface Result {
  /** Creates: answered timers per second. Burst: timers per second from the due instant until all are settled. */
  readonly perSecond?: number
  readonly latenessMs?: ReadonlyArray<number>
  /** The size of the burst. It is smaller than requested if the system could not create all timers. */
  readonly timers?: number
  /** The number of other pending timers after the fill. */
  readonly pending?: number
  /** Single creates a second, with few and with all other timers pending. */
  readonly createsPerSecond?: { readonly few: number; readonly many: number }
}

const hourMs = 3_600_000
const batch = 1_000
const fillers = 4
const defaultFillWithinMs = 600_000
const burstWithinMs = 300_000
const firedWithinMs = 120_000
const warmUpWithinMs = 60_000
/** A timer that is created just before it is due is late. So the last timer of a burst is created this long before. */
const quietMs = 300

/** So far in the future that nothing fires: in an hour, spread over another hour like real due times. */
export const farAhead = (): number => Date.now() + hourMs + Math.floor(Math.random() * hourMs)

/** The warm-up runs first and does not count. After 20,000 timers a runtime has compiled its hot code. */
const warmUpOf = (timers: number): number => Math.min(20_000, Math.ceil(timers / 5))

export const doWork = async (system: System, work: Work): Promise<Result> => {
  switch (work.work) {
    case "creates":
      await createEach(system, warmUpOf(work.timers), work.callers)
      return { perSecond: await createEach(system, work.timers, work.callers) }
    case "createMany":
      await createBatches(system, warmUpOf(work.timers), work.callers)
      return { perSecond: await createBatches(system, work.timers, work.callers) }
    case "burst":
      return await burst(system, work)
    case "paced":
      return await paced(system, work)
  }
}

const createEach = async (system: System, timers: number, callers: number): Promise<number> => {
  let left = timers
  const startedAt = performance.now()
  const caller = async () => {
    while (left-- > 0) await system.add(randomUUID(), farAhead(), samplePayload)
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return perSecond(timers, performance.now() - startedAt)
}

const createBatches = async (system: System, timers: number, callers: number): Promise<number> => {
  const all = Array.from({ length: timers }, () => ({ id: randomUUID(), dueAtMs: farAhead() }))
  const startedAt = performance.now()
  await addAll(system, all, callers, Number.POSITIVE_INFINITY)
  return perSecond(timers, performance.now() - startedAt)
}

const burst = async (
  system: System,
  { timers, leadMs, dueAtMs: askedDueAtMs }: Extract<Work, { work: "burst" }>,
): Promise<Result> => {
  const firings = new Firings()
  await system.start(firings.note)
  const intake = await warmUpBurst(system, firings, warmUpOf(timers))
  // The estimate uses the rate of the small run, which was slower than the large run will be.
  const dueAtMs = askedDueAtMs ?? Date.now() + Math.min(leadMs, neededMs(timers, intake))
  const all = Array.from({ length: timers }, () => ({ id: randomUUID(), dueAtMs }))
  firings.expect(all)
  const added = await addAll(system, all, fillers, dueAtMs - quietMs)
  if (Date.now() >= dueAtMs) throw new Error("the last creates were not answered before they were due")
  await until(() => firings.count >= added, leadMs + burstWithinMs, "the burst")
  await untilSettled(system)
  const tookMs = nowMs() - dueAtMs
  return { perSecond: perSecond(added, tookMs), latenessMs: firings.latenessMs, timers: added }
}

/** Returns how many timers per second the system created. */
const warmUpBurst = async (system: System, firings: Firings, timers: number): Promise<number> => {
  const dueAtMs = Date.now() + 200
  const all = Array.from({ length: timers }, () => ({ id: randomUUID(), dueAtMs }))
  firings.expect(all)
  const startedAt = performance.now()
  await addAll(system, all, fillers, Number.POSITIVE_INFINITY)
  const rate = perSecond(timers, performance.now() - startedAt)
  await until(() => firings.count >= timers, warmUpWithinMs, "the warm-up")
  await untilSettled(system)
  firings.forget()
  return rate
}

const paced = async (system: System, work: Extract<Work, { work: "paced" }>): Promise<Result> => {
  const { seconds, leadMs, fillWithinMs = defaultFillWithinMs } = work
  const deadlineMs = Date.now() + fillWithinMs
  const few = await fill(system, work.creates === undefined ? 0 : work.pending / 100, deadlineMs)
  const fewRate = await rateOf(system, work.creates)
  const fillingFrom = performance.now()
  const filled = await fill(system, work.pending - few, deadlineMs)
  const pending = few + filled
  const intake = perSecond(filled, performance.now() - fillingFrom)
  const manyRate = await rateOf(system, work.creates)
  const firings = new Firings()
  await system.start(firings.note)
  // The first second is not counted.
  const created = work.perSecond * (seconds + 1)
  // With many timers pending, and while it also fires timers, the system may be slower than during the fill.
  const firstMs = Date.now() + Math.min(leadMs, 1_000 + 2 * neededMs(created, intake))
  const all = Array.from({ length: created }, (_, index) => ({
    id: randomUUID(),
    dueAtMs: firstMs + Math.floor((index / work.perSecond) * 1_000),
  }))
  firings.expect(all)
  firings.countFrom(firstMs + 1_000)
  await addAll(system, all, fillers, Number.POSITIVE_INFINITY)
  if (Date.now() > firstMs) throw new Error("the system could not create all timers before the first was due")
  const timers = work.perSecond * seconds
  await until(() => firings.count >= timers, leadMs + seconds * 1_000 + firedWithinMs, "firing")
  return {
    latenessMs: firings.latenessMs,
    pending,
    ...(work.creates === undefined ? {} : { createsPerSecond: { few: fewRate, many: manyRate } }),
  }
}

const rateOf = async (
  system: System,
  creates: Extract<Work, { work: "paced" }>["creates"],
): Promise<number> =>
  creates === undefined ? Number.NaN : await createEach(system, creates.timers, creates.callers)

/** Returns how many timers were created. */
const fill = async (system: System, timers: number, deadlineMs: number): Promise<number> => {
  let filled = 0
  // Ids are made in parts, so that a million of them are never in memory.
  while (filled < timers && Date.now() < deadlineMs) {
    const some = Array.from({ length: Math.min(fillers * 5 * batch, timers - filled) }, () => ({
      id: randomUUID(),
      dueAtMs: farAhead(),
    }))
    filled += await addAll(system, some, fillers, deadlineMs)
  }
  return filled
}

/** Creates a thousand timers per call, by several callers at once, until the deadline. Returns their number. */
const addAll = async (
  system: System,
  timers: ReadonlyArray<Due>,
  callers: number,
  deadlineMs: number,
): Promise<number> => {
  let next = 0
  let added = 0
  const caller = async () => {
    while (next < timers.length && Date.now() < deadlineMs) {
      const some = timers.slice(next, next + batch)
      next += some.length
      await system.addMany(some, samplePayload)
      added += some.length
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return added
}

/** How long before the due time a system must start to create these timers. `intake` is its rate per second. */
const neededMs = (timers: number, intake: number): number =>
  Math.ceil(500 + quietMs + (timers / intake) * 1_500)

/** Records when each timer was due and how late its handler was called. A repeat does not count again. */
class Firings {
  readonly #dueAtMs = new Map<string, number>()
  #countFromMs = 0
  latenessMs: Array<number> = []

  get count(): number {
    return this.latenessMs.length
  }

  readonly note = (id: string): void => {
    const dueAtMs = this.#dueAtMs.get(id)
    if (dueAtMs === undefined) return
    this.#dueAtMs.delete(id)
    if (dueAtMs >= this.#countFromMs) this.latenessMs.push(nowMs() - dueAtMs)
  }

  expect(timers: ReadonlyArray<Due>): void {
    for (const { id, dueAtMs } of timers) this.#dueAtMs.set(id, dueAtMs)
  }

  /** Timers that were due before this instant do not count. */
  countFrom(dueAtMs: number): void {
    this.#countFromMs = dueAtMs
  }

  forget(): void {
    this.#dueAtMs.clear()
    this.latenessMs = []
  }
}

/** Finer than a millisecond, because the best systems are not much later than that. */
const nowMs = (): number => performance.timeOrigin + performance.now()

const perSecond = (timers: number, tookMs: number): number => (timers / tookMs) * 1_000

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const untilSettled = async (system: System): Promise<void> => {
  const deadline = Date.now() + burstWithinMs
  while ((await system.unsettled()) > 0) {
    if (Date.now() > deadline) throw new Error("not all timers were settled in time")
    await sleep(2)
  }
}

const until = async (isDone: () => boolean, withinMs: number, what: string): Promise<void> => {
  const deadline = Date.now() + withinMs
  while (!isDone()) {
    if (Date.now() > deadline) throw new Error(`${what} took longer than ${withinMs / 1_000} s`)
    await sleep(2)
  }
}
