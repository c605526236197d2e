// The namespace that others must not hold up: a fixed rate of timers, created shortly before they are due, to an endpoint
// that answers at once. A create that the service refuses is sent again until it is accepted, as a careful client does.
// So a refused create shows up as lateness.
import { randomUUID } from "node:crypto"
import type { Receiver } from "../Receiver.ts"
import { samplePayload } from "../samplePayload.ts"

export interface GoodTerms {
  readonly perSecond: number
  /** How long the measured timers fire. */
  readonly seconds: number
  /** How long timers fire before that. These do not count. */
  readonly warmUpSeconds: number
  /** A timer is created this long before it is due. */
  readonly aheadMs: number
  /** A timer that has not arrived this long after the last one was due is missing. */
  readonly graceMs: number
}

export interface GoodResult {
  /** How late each measured timer was. A timer that never arrived counts with the time that had passed by then. */
  readonly latenessMs: ReadonlyArray<number>
  /** How many of the timers were created and did not arrive. */
  readonly missing: number
  /** How many of the timers the service never accepted. */
  readonly notAccepted: number
  readonly repeated: number
  /** How many creates were refused or failed. Each was sent again. */
  readonly failedCreates: number
  /** How long each create took until it was accepted, with its repeats. */
  readonly createMs: ReadonlyArray<number>
}

/** A timer of the namespace and when it is due. */
export interface GoodTimer {
  readonly timerId: string
  readonly dueAtMs: number
  readonly isAccepted: boolean
}

/** A create has this many timers at most, so that its own size hardly delays the timers that fire. */
const batchesPerSecond = 10
const retryAfterMs = 100
const answerWithinMs = 5_000
const askEveryMs = 50

export class GoodNamespace {
  readonly #url: string
  readonly #receiver: Receiver
  /** The names by which the receiver is called, in turns. Without names it is called by its address. */
  readonly #hosts: ReadonlyArray<string>
  readonly #name: string

  constructor(url: string, receiver: Receiver, hosts: ReadonlyArray<string> = [], name = "good") {
    this.#url = url
    this.#receiver = receiver
    this.#hosts = hosts
    this.#name = name
  }

  /** `onMeasured` is called when the first measured timer is due, before it fires. */
  async run(terms: GoodTerms, onMeasured: () => void = () => {}): Promise<GoodResult> {
    await this.#receiver.forget()
    const batch = Math.ceil(terms.perSecond / batchesPerSecond)
    const total = terms.perSecond * (terms.warmUpSeconds + terms.seconds)
    const firstDueMs = Date.now() + terms.aheadMs
    const dueAtMs = (index: number) => firstDueMs + Math.floor((index * 1_000) / terms.perSecond)
    const measuredFrom = terms.perSecond * terms.warmUpSeconds
    const endMs = dueAtMs(total) + terms.graceMs
    const begun = Bun.sleep(Math.max(0, dueAtMs(measuredFrom) - Date.now())).then(onMeasured)
    const run = randomUUID().slice(0, 8)
    const idOf = (index: number) => `${run}-${index}`
    const creates: Array<Promise<Created>> = []
    for (let first = 0; first < total; first += batch) {
      const waitMs = dueAtMs(first) - terms.aheadMs - Date.now()
      if (waitMs > 0) await Bun.sleep(waitMs)
      const timers = Array.from({ length: Math.min(batch, total - first) }, (_, at) =>
        this.#timer(idOf(first + at), dueAtMs(first + at)),
      )
      creates.push(this.#create(timers, endMs))
    }
    await begun
    const created = await Promise.all(creates)
    await Bun.sleep(Math.max(0, dueAtMs(total) - Date.now()))
    await this.#arrived(
      created.reduce((sum, { accepted }) => sum + accepted, 0),
      endMs,
    )
    const timers = Array.from({ length: total }, (_, index) => ({
      timerId: idOf(index),
      dueAtMs: dueAtMs(index),
      isAccepted: (created[Math.floor(index / batch)]?.accepted ?? 0) > 0,
    }))
    return {
      ...goodResult(timers.slice(measuredFrom), await this.#receiver.arrivals(), Date.now()),
      failedCreates: created.reduce((sum, { failures }) => sum + failures, 0),
      createMs: created.map(({ tookMs }) => tookMs),
    }
  }

  #timer(timerId: string, dueAtMs: number): object {
    const host = this.#hosts[Math.floor(Math.random() * this.#hosts.length)]
    return {
      namespace: this.#name,
      timerId,
      executeAt: new Date(dueAtMs).toISOString(),
      callbackUrl: this.#receiver.recordingUrl(host),
      payload: samplePayload,
    }
  }

  async #create(timers: ReadonlyArray<object>, untilMs: number): Promise<Created> {
    const startedAt = performance.now()
    const body = JSON.stringify({ timers })
    let failures = 0
    while (!(await this.#isAccepted(body))) {
      failures++
      if (Date.now() + retryAfterMs > untilMs)
        return { accepted: 0, failures, tookMs: performance.now() - startedAt }
      await Bun.sleep(retryAfterMs)
    }
    return { accepted: timers.length, failures, tookMs: performance.now() - startedAt }
  }

  async #isAccepted(body: string): Promise<boolean> {
    try {
      const response = await fetch(`${this.#url}/api/v1/timers/createMany`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(answerWithinMs),
      })
      await response.arrayBuffer()
      return response.ok
    } catch {
      return false
    }
  }

  /** Waits until so many deliveries have arrived, or until the end. */
  async #arrived(deliveries: number, endMs: number): Promise<void> {
    while ((await this.#receiver.deliveries()) < deliveries && Date.now() < endMs) await Bun.sleep(askEveryMs)
  }
}

interface Created {
  /** 0 if the service never accepted the batch. */
  readonly accepted: number
  readonly failures: number
  readonly tookMs: number
}

/** Compares the timers with what arrived. */
export const goodResult = (
  timers: ReadonlyArray<GoodTimer>,
  arrivals: ReadonlyArray<readonly [timerId: string, receivedAtMs: number]>,
  endMs: number,
): Pick<GoodResult, "latenessMs" | "missing" | "notAccepted" | "repeated"> => {
  const first = new Map<string, number>()
  const times = new Map<string, number>()
  for (const [timerId, receivedAtMs] of arrivals) {
    if (!first.has(timerId)) first.set(timerId, receivedAtMs)
    times.set(timerId, (times.get(timerId) ?? 0) + 1)
  }
  const absent = timers.filter(({ timerId }) => !first.has(timerId))
  return {
    latenessMs: timers.map(({ timerId, dueAtMs }) => (first.get(timerId) ?? endMs) - dueAtMs),
    missing: absent.filter(({ isAccepted }) => isAccepted).length,
    notAccepted: absent.filter(({ isAccepted }) => !isAccepted).length,
    repeated: timers.reduce((sum, { timerId }) => sum + Math.max(0, (times.get(timerId) ?? 0) - 1), 0),
  }
}
