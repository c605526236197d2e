// The real service with many pending timers and a fixed rate of timers that fire to a receiver on loopback. The receiver
// records how late each was. The service is filled once, and fires once per round.
import { count } from "./Benchmark.ts"
import type { Receiver } from "./Receiver.ts"
import { Service, type StoreKind, storeName } from "./Service.ts"
import { samplePayload } from "./samplePayload.ts"
import { farAhead } from "./work.ts"

const aheadMs = 2_000
const fillStep = 50_000
const warmUpSeconds = 1
const firedWithinMs = 60_000

export class WebhookPace implements AsyncDisposable {
  readonly #service: Service
  readonly #receiver: Receiver

  private constructor(service: Service, receiver: Receiver) {
    this.#service = service
    this.#receiver = receiver
  }

  static async filled(
    kind: StoreKind,
    receiver: Receiver,
    pending: number,
    progress: (message: string) => void,
  ): Promise<WebhookPace> {
    const pace = new WebhookPace(await Service.start(kind), receiver)
    try {
      await pace.#fill(pending, (filled) =>
        progress(`filling ${storeName[kind]}, ${count(filled)} of ${count(pending)}`),
      )
      return pace
    } catch (error) {
      await pace[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Returns how late each timer was. It fires one more second first, which does not count. */
  async fire(perSecond: number, seconds: number): Promise<ReadonlyArray<number>> {
    await this.#fireSeconds(perSecond, seconds + warmUpSeconds)
    const latenessMs = await this.#receiver.latenessMs(perSecond * (seconds + warmUpSeconds), firedWithinMs)
    // Deliveries arrive in due order, except those of nearly the same instant.
    return latenessMs.slice(perSecond * warmUpSeconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]()
  }

  async #fill(pending: number, progress: (filled: number) => void): Promise<void> {
    for (let filled = 0; filled < pending; filled += fillStep) {
      progress(filled)
      await this.#service.createMany(Math.min(fillStep, pending - filled), () => this.#timer(farAhead()))
    }
  }

  /** Creates the timers of each second shortly before it, due evenly over that second, until the last is due. */
  async #fireSeconds(perSecond: number, seconds: number): Promise<void> {
    await this.#receiver.forget()
    const firstDue = Date.now() + aheadMs
    const step = 1_000 / perSecond
    for (let second = 0; second < seconds; second++) {
      const begin = firstDue + second * 1_000
      while (Date.now() < begin - aheadMs) await Bun.sleep(begin - aheadMs - Date.now())
      await this.#service.createMany(perSecond, (index) => this.#timer(begin + Math.floor(index * step)))
    }
    await Bun.sleep(Math.max(0, firstDue + seconds * 1_000 - Date.now()))
  }

  #timer(executeAt: number): object {
    return {
      namespace: "bench",
      executeAt: new Date(executeAt).toISOString(),
      callbackUrl: this.#receiver.timingUrl,
      payload: samplePayload,
    }
  }
}
