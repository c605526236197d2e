// The work at one number of pending timers. The service is filled over HTTP and then measured with creates, with timers
// due evenly, with many timers due at once, and with a kill. All calls go the same way as a user's calls.
import { randomUUID } from "node:crypto"
import { count } from "../Benchmark.ts"
import { httpLoad } from "../HttpLoad.ts"
import type { Receiver } from "../Receiver.ts"
import type { Service } from "../Service.ts"
import { payload } from "../work.ts"

const createManyMax = 1_000
const bulkCallers = 4
const connections = 64
const answerWithinMs = 120_000
const progressEveryMs = 10_000
/** With fewer timers than this, a rate says little. */
const lastPartMin = 9_000
const mostRepeats = 30
const repeatAfterMs = 1_000
const payloadText = payload.toString()

const timerText = (executeAtMs: number, url: string): string =>
  `{"namespace":"bench","timerId":"${randomUUID()}","executeAt":"${new Date(executeAtMs).toISOString()}",` +
  `"callbackUrl":"${url}","payload":${payloadText}}`

/** Due times within a day that begins hours from now, because no timer of a fill may fire during the run. */
export const notDueBefore = (fromMs: number): (() => number) => {
  const dayMs = 86_400_000
  return () => fromMs + Math.floor(Math.random() * dayMs)
}

export interface Filled {
  readonly created: number
  /** The rate over the last tenth of the fill; over the whole fill if it is small. */
  readonly perSecond: number
  /** Calls that were refused and repeated. */
  readonly repeats: number
}

export interface FillTerms {
  readonly timers: number
  readonly executeAtMs: () => number
  readonly url: string
  /** After this time the fill ends with the timers that it has. */
  readonly withinMs: number
  readonly progress: (message: string) => void
}

/** Creates a thousand timers per call, by several callers at once. */
export const fill = async (
  service: Service,
  { timers, executeAtMs, url, withinMs, progress }: FillTerms,
): Promise<Filled> => {
  const startedAt = performance.now()
  const last = { after: 0, at: startedAt }
  const lastFrom = timers / 10 >= lastPartMin ? timers * 0.9 : 0
  let asked = 0
  let created = 0
  let repeats = 0
  let told = startedAt
  const caller = async () => {
    while (asked < timers && performance.now() - startedAt < withinMs) {
      const some = Math.min(createManyMax, timers - asked)
      asked += some
      repeats += await createSome(service.url, some, () => timerText(executeAtMs(), url))
      created += some
      const now = performance.now()
      if (last.after === 0 && lastFrom > 0 && created >= lastFrom)
        Object.assign(last, { after: created, at: now })
      if (now - told < progressEveryMs) continue
      told = now
      progress(`${count(created)} of ${count(timers)}, ${count((created / (now - startedAt)) * 1_000)}/s`)
    }
  }
  await Promise.all(Array.from({ length: bulkCallers }, caller))
  return { created, repeats, perSecond: ((created - last.after) / (performance.now() - last.at)) * 1_000 }
}

/** Returns how often the call was repeated. A store that is behind refuses a call and asks for a retry. */
const createSome = async (serviceUrl: string, timers: number, text: () => string): Promise<number> => {
  const body = `{"timers":[${Array.from({ length: timers }, text).join(",")}]}`
  for (let repeats = 0; ; repeats++) {
    const response = await fetch(`${serviceUrl}/api/v1/timers/createMany`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(answerWithinMs),
    })
    const answer = await response.text()
    // The answer for timers that an earlier call created is "unchanged".
    const made = answer.match(/"result":"(?:created|unchanged)"/g)?.length ?? 0
    if (response.ok && made === timers) return repeats
    if (repeats === mostRepeats)
      throw new Error(`${made} of ${timers} were created, ${response.status}: ${answer.slice(0, 300)}`)
    await Bun.sleep(repeatAfterMs)
  }
}

/** Durable single creates per second on many connections, with limits on time and number. */
export const createRate = async (
  service: Service,
  terms: {
    readonly executeAtMs: () => number
    readonly url: string
    readonly ms: number
    readonly most: number
    readonly warmUpCreates: number
  },
): Promise<{ readonly perSecond: number; readonly created: number; readonly writtenBytes: number }> => {
  const load = (requests: number) =>
    httpLoad({
      url: `${service.url}/api/v1/timers/create`,
      connections,
      requests,
      body: () => timerText(terms.executeAtMs(), terms.url),
      withinMs: answerWithinMs + 5 * terms.ms,
    })
  // The first part warms up both sides, and its rate gives the number of creates for the second part.
  const first = Math.min(terms.warmUpCreates, Math.ceil(terms.most / 2))
  const writtenBefore = await service.writtenBytes()
  const pilot = await load(first)
  const requests = Math.max(first, Math.min(terms.most - first, Math.round((pilot * terms.ms) / 1_000)))
  const perSecond = await load(requests)
  // What waits to be merged is written, too.
  await Bun.sleep(untilMergedMs)
  const writtenBytes = (await service.writtenBytes()) - writtenBefore
  return { perSecond, created: first + requests, writtenBytes }
}

const untilMergedMs = 3_000
const aheadMs = 3_000

/** Returns how late each timer was received. The timers are due evenly over each second. */
export const latenessAt = async (
  service: Service,
  receiver: Receiver,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<ReadonlyArray<number>> => {
  await receiver.forget()
  const firstDueMs = Date.now() + aheadMs
  for (let second = 0; second < seconds; second++) {
    const beginMs = firstDueMs + second * 1_000
    await sleepUntil(beginMs - aheadMs)
    let index = 0
    const next = () => timerText(beginMs + Math.floor((index++ * 1_000) / perSecond), receiver.timingUrl)
    for (let made = 0; made < perSecond; made += createManyMax) {
      await createSome(service.url, Math.min(createManyMax, perSecond - made), next)
    }
    if (Date.now() > beginMs) throw new Error("the timers could not be created before they were due")
  }
  await sleepUntil(firstDueMs + seconds * 1_000)
  return await receiver.latenessMs(perSecond * seconds, 60_000)
}

/** Returns received timers per second, from the instant at which all are due. */
export const burstRate = async (
  service: Service,
  receiver: Receiver,
  { timers, leadMs }: { readonly timers: number; readonly leadMs: number },
): Promise<number> => {
  await receiver.forget()
  const dueAtMs = Date.now() + leadMs
  const terms = { timers, executeAtMs: () => dueAtMs, url: receiver.plainUrl, withinMs: leadMs }
  const { created } = await fill(service, { ...terms, progress: () => {} })
  if (created < timers || Date.now() > dueAtMs)
    throw new Error("not all timers could be created before they were due")
  await sleepUntil(dueAtMs)
  await receiver.delivered(timers, 120_000)
  return (timers / (Date.now() - dueAtMs)) * 1_000
}

export interface StartUp {
  /** From the start of the process until it reports that it is ready. */
  readonly readyMs: number
  /** From the start of the process until the receipt of a timer that became due while the process was down. */
  readonly firedMs: number
}

const dueAfterMs = 1_000
const awayMs = 2_000

/** Kills the service without warning, waits two seconds, and starts it on the same data. */
export const startUp = async (service: Service, receiver: Receiver): Promise<StartUp> => {
  await receiver.forget()
  const dueAtMs = Date.now() + dueAfterMs
  await createSome(service.url, 1, () => timerText(dueAtMs, receiver.timingUrl))
  await service.kill9()
  await sleepUntil(Date.now() + awayMs)
  const startedAtMs = Date.now()
  await service.startAgain()
  const readyMs = Date.now() - startedAtMs
  const [latenessMs = Number.NaN] = await receiver.latenessMs(1, 60_000)
  return { readyMs, firedMs: dueAtMs + latenessMs - startedAtMs }
}

const sleepUntil = async (atMs: number): Promise<void> => {
  while (Date.now() < atMs) await Bun.sleep(atMs - Date.now())
}
