// The memory that large bodies use, from their first byte until their request is answered. If it is used up, bodies that
// have stalled while they arrive give way. Otherwise a few clients could use it up with bodies that never end, and nobody
// else could send a large body.
import { ByteBudget, type ByteBudgetOptions } from "./ByteBudget.ts"

export interface ArrivingBodiesOptions extends ByteBudgetOptions {
  /** A body without progress for this long gives way if the memory is used up. */
  readonly stalledAfterMs: number
  /** The monotonic clock. */
  readonly nowMs: () => number
}

/** A body that counts. */
export class ArrivingBody {
  readonly address: string
  /** Ends the request of the body. Its bytes no longer count, and its memory is free. */
  readonly giveWay: () => void
  heldBytes = 0
  /** The bytes since the last progress, and the time of it. */
  newBytes = 0
  progressAtMs = 0

  constructor(address: string, giveWay: () => void) {
    this.address = address
    this.giveWay = giveWay
  }
}

/**
 * A body makes progress when it has got this share of what it holds, and at least this many bytes. So a client that holds
 * much must also send much: a byte from time to time is not enough.
 */
const progress = { share: 1 / 8, minBytes: 64 * 1024 } as const

export class ArrivingBodies {
  readonly #options: ArrivingBodiesOptions
  readonly #budget: ByteBudget
  /** The bodies that have not ended yet. The one whose last progress was longest ago is the first. */
  readonly #unfinished = new Set<ArrivingBody>()

  constructor(options: ArrivingBodiesOptions) {
    this.#options = options
    this.#budget = new ByteBudget(options)
  }

  /** Counts more bytes of a body. Returns whether there was room for them. */
  hold(body: ArrivingBody, bytes: number): boolean {
    while (!this.#budget.take(body.address, bytes)) {
      const stalled = this.#stalledBefore(body, bytes)
      if (stalled === undefined) return false
      stalled.giveWay()
    }
    const isFirst = body.heldBytes === 0
    body.heldBytes += bytes
    body.newBytes += bytes
    if (isFirst || body.newBytes >= Math.max(progress.minBytes, progress.share * body.heldBytes)) {
      body.newBytes = 0
      body.progressAtMs = this.#options.nowMs()
      this.#unfinished.delete(body)
      this.#unfinished.add(body)
    }
    return true
  }

  /** The whole body has arrived. It still counts. */
  arrived(body: ArrivingBody): void {
    this.#unfinished.delete(body)
  }

  /** The body no longer counts. */
  release(body: ArrivingBody): void {
    this.#unfinished.delete(body)
    this.#budget.giveBack(body.address, body.heldBytes)
    body.heldBytes = 0
  }

  /** The body that must give way for `asking`: of the same address, if that address has used up its own part. */
  #stalledBefore(asking: ArrivingBody, bytes: number): ArrivingBody | undefined {
    const isOwn = !this.#budget.isWithinShare(asking.address, bytes)
    const stalledSinceMs = this.#options.nowMs() - this.#options.stalledAfterMs
    for (const body of this.#unfinished) {
      if (body.progressAtMs > stalledSinceMs) return undefined
      if (body !== asking && (!isOwn || body.address === asking.address)) return body
    }
    return undefined
  }
}
