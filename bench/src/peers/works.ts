// The pieces of work that Punctual and its peers are given alike, in a process of their own: what is counted, and from
// when to when, is the same code for all of them. A system is what an adapter makes of it: for the peers
// in bench/peers/systems, for Punctual in PunctualSystem.ts.
import { randomUUID } from "node:crypto"
import { samplePayload } from "../samplePayload.ts"

export interface Due {
  readonly id: string
  readonly dueAtMs: number
}

export interface System {
  ready(): Promise<void>
  /** Answers when the system has the timer, as durable as its terms say. */
  add(id: string, dueAtMs: number, payload: object): Promise<unknown>
  addMany(timers: ReadonlyArray<Due>, payload: object): Promise<unknown>
  /** From now on what is due is handled: the handler does nothing but say whose turn it was. */
  start(onFired: (id: string) => void): Promise<unknown>
  /** How many were handled, or are still to be, and are not yet noted as done in the system's store. */
  unsettled(): Promise<number>
  close(): Promise<unknown>
}

export type Work =
  /** Single creates by so many callers at once. */
  | { readonly work: "creates"; readonly timers: number; readonly callers: number }
  /** A thousand in a call, by so many callers at once. */
  | { readonly work: "createMany"; readonly timers: number; readonly callers: number }
  /** Many due in the same instant; `leadMs` is the longest that a system may take to take them in. */
  | { readonly work: "burst"; readonly timers: number; readonly leadMs: number }
  /**
   * So many a second, evenly, with so many others pending, or as many as can be had within `fillWithinMs`; `leadMs` as
   * of a burst.
   */
  | {
      readonly work: "paced"
      readonly perSecond: number
      readonly seconds: number
      readonly pending: number
      readonly leadMs: number
      readonly fillWithinMs?: number
    }

export interface Result {
  /** Creates: timers answered a second. A burst: timers a second, from the instant they were due until all were settled. */
  readonly perSecond?: number
  readonly latenessMs?: ReadonlyArray<number>
  /** How many a burst had: fewer than asked for, if the system could not take them in. */
  readonly timers?: number
  /** How many others were pending at last. */
  readonly pending?: number
}

const hourMs = 3_600_000
const batch = 1_000
const fillers = 4
const defaultFillWithinMs = 600_000
const burstWithinMs = 300_000
const firedWithinMs = 120_000
const warmUpWithinMs = 60_000
/** What is created right before it is due is late because of that: the last of a burst are there this long before. */
const quietMs = 300

/** Far enough ahead that nothing fires: an hour, spread over another, like real due times are. */
export const farAhead = (): number => Date.now() + hourMs + Math.floor(Math.random() * hourMs)

/** Done first, and not counted, so that no side is measured cold. */
const warmUpOf = (timers: number): number => Math.min(2_000, Math.ceil(timers / 5))

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
  { timers, leadMs }: Extract<Work, { work: "burst" }>,
): Promise<Result> => {
  const firings = new Firings()
  await system.start(firings.note)
  const intake = await warmUpBurst(system, firings, warmUpOf(timers))
  // By the rate of the small run, which was slower than the large one will be.
  const dueAtMs = Date.now() + Math.min(leadMs, neededMs(timers, intake))
  const all = Array.from({ length: timers }, () => ({ id: randomUUID(), dueAtMs }))
  firings.expect(all)
  const added = await addAll(system, all, fillers, dueAtMs - quietMs)
  if (Date.now() >= dueAtMs) throw new Error("the last creates were not answered before they were due")
  await until(() => firings.count >= added, leadMs + burstWithinMs, "the burst")
  await untilSettled(system)
  const tookMs = nowMs() - dueAtMs
  return { perSecond: perSecond(added, tookMs), latenessMs: firings.latenessMs, timers: added }
}

/** Answers how many a second were taken in. */
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
  const fillingFrom = performance.now()
  const pending = await fill(system, work.pending, Date.now() + fillWithinMs)
  const intake = perSecond(pending, performance.now() - fillingFrom)
  const firings = new Firings()
  await system.start(firings.note)
  // The first second is not counted.
  const created = work.perSecond * (seconds + 1)
  // While it also works off what is due, and with many pending, it may be slower than the fill was by and large.
  const firstMs = Date.now() + Math.min(leadMs, 1_000 + 2 * neededMs(created, intake))
  const all = Array.from({ length: created }, (_, index) => ({
    id: randomUUID(),
    dueAtMs: firstMs + Math.floor((index / work.perSecond) * 1_000),
  }))
  firings.expect(all)
  firings.countFrom(firstMs + 1_000)
  await addAll(system, all, fillers, Number.POSITIVE_INFINITY)
  if (Date.now() > firstMs) throw new Error("not all could be created before the first was due")
  const timers = work.perSecond * seconds
  await until(() => firings.count >= timers, leadMs + seconds * 1_000 + firedWithinMs, "firing")
  return { latenessMs: firings.latenessMs, pending }
}

/** Answers how many there are. */
const fill = async (system: System, timers: number, deadlineMs: number): Promise<number> => {
  let filled = 0
  // Not all at once: a million ids need not lie in memory.
  while (filled < timers && Date.now() < deadlineMs) {
    const some = Array.from({ length: Math.min(fillers * 5 * batch, timers - filled) }, () => ({
      id: randomUUID(),
      dueAtMs: farAhead(),
    }))
    filled += await addAll(system, some, fillers, deadlineMs)
  }
  return filled
}

/** A thousand in a call, by so many callers at once, and no call after the deadline; how many were taken. */
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

/** How long before they are due so many are to be begun with, by a system that takes in so many a second. */
const neededMs = (timers: number, intake: number): number =>
  Math.ceil(500 + quietMs + (timers / intake) * 1_500)

/** What was due when, and how late each was when its handler was called; a repeat counts once. */
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

  /** What was due before is not counted. */
  countFrom(dueAtMs: number): void {
    this.#countFromMs = dueAtMs
  }

  forget(): void {
    this.#dueAtMs.clear()
    this.latenessMs = []
  }
}

/** Finer than a millisecond: the best are not much later than that. */
const nowMs = (): number => performance.timeOrigin + performance.now()

const perSecond = (timers: number, tookMs: number): number => (timers / tookMs) * 1_000

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const untilSettled = async (system: System): Promise<void> => {
  const deadline = Date.now() + burstWithinMs
  while ((await system.unsettled()) > 0) {
    if (Date.now() > deadline) throw new Error("not all was settled")
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
