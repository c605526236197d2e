// How fast large payloads leave. An attempt with a large payload costs far more than a usual one: the payload is copied into
// the request, written to a socket, and perhaps replaced by one of the same size in the answer. One thread sends the
// requests of all namespaces. So large payloads have a pace of their own, and other attempts never wait for it.

/** A larger payload counts. */
export const largePayloadBytes = 8 * 1024
/** The allowance counts for this long. What is left over is lost. */
const tickMs = 10
export const payloadBytesPerSecond = 16 * 1024 * 1024
/** The last attempt of a tick may exceed it. */
const bytesPerTick = (payloadBytesPerSecond * tickMs) / 1_000

export class PayloadPace {
  readonly #nowMs: () => number
  #tick: number
  #left = bytesPerTick

  /** The clock is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#tick = Math.floor(nowMs() / tickMs)
  }

  mayStart(payloadBytes: number): boolean {
    if (payloadBytes <= largePayloadBytes) return true
    const tick = Math.floor(this.#nowMs() / tickMs)
    if (tick !== this.#tick) {
      // A payload that is larger than the allowance of a tick uses up those of the next ones.
      this.#left = Math.min(bytesPerTick, this.#left + (tick - this.#tick) * bytesPerTick)
      this.#tick = tick
    }
    return this.#left > 0
  }

  started(payloadBytes: number): void {
    if (payloadBytes > largePayloadBytes) this.#left -= payloadBytes
  }

  /** After this time more may start. */
  get nextInMs(): number {
    return Math.max(1, (this.#tick + 1) * tickMs - this.#nowMs())
  }
}
