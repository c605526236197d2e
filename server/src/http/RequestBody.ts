// Reads a request's body within bounds: of its size, of the time it takes to arrive, and of all bodies
// held at once. What counts is what has arrived, never what was announced: else a few connections that
// announce much and send nothing would keep everyone out. The runtime's own bound answers without a problem document, so it is set far above
// these, and what it would have refused is read and thrown away here, within bounds of its own.
import { formatDuration } from "@punctual/api/DurationMs"
import { BodyTooLarge, InvalidJson, Overloaded, type Problem, RequestTimeout } from "@punctual/api/Problem"
import { Deadlines } from "./Deadlines.ts"

export interface RequestBodyOptions {
  /** From the end of the headers to the end of the body. */
  readonly timeoutMs: number
  /**
   * A body declared to be at most this long is read in one go and never refused for want of room: the
   * bound on calls under way bounds all of these together (4,096 of 16 KiB are 64 MiB).
   */
  readonly smallBytes: number
  /** What has arrived of all other bodies of requests under way, together. */
  readonly heldBytesMax: number
  /** How much of a body that is too large is read before the connection is closed on it. */
  readonly discardBytesMax: number
}

export const defaultBodyOptions: RequestBodyOptions = {
  timeoutMs: 30_000,
  smallBytes: 16 * 1024,
  heldBytesMax: 256 * 1024 * 1024,
  // A client that is still writing when its connection closes often reports that, and not the answer.
  discardBytesMax: 128 * 1024 * 1024,
}

export type BodyRead =
  | { readonly bytes: Uint8Array }
  | { readonly problem: Problem; readonly isConsumed: boolean }

export class RequestBodies {
  readonly #options: RequestBodyOptions
  readonly #deadlines: Deadlines
  #heldBytes = 0

  constructor(options: RequestBodyOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.timeoutMs)
  }

  /** What is read counts as held until the promise of `use` is settled. `hint` says which setting bounds the body. */
  async withBody<A>(
    request: Request,
    maxBytes: number,
    use: (read: BodyRead) => Promise<A>,
    hint = "",
  ): Promise<A> {
    const declared = request.headers.get("content-length")
    const declaredBytes = declared === null ? undefined : Number(declared)
    if (declaredBytes !== undefined && declaredBytes > maxBytes) {
      return use(await this.#refuseTooLarge(request, maxBytes, hint))
    }
    if (declaredBytes !== undefined && declaredBytes <= this.#options.smallBytes) {
      return use(await this.#deadlines.within(readAtOnce(request), this.#tooSlow, brokenOff))
    }
    const holding: Holding = { bytes: 0, isOver: false }
    try {
      const read = this.#readAsItArrives(request, maxBytes, holding, hint)
      return await use(await this.#deadlines.within(read, this.#tooSlow, brokenOff))
    } finally {
      holding.isOver = true
      this.#hold(holding, 0)
    }
  }

  async #readAsItArrives(
    request: Request,
    maxBytes: number,
    holding: Holding,
    hint: string,
  ): Promise<BodyRead> {
    if (request.body === null) return { bytes: new Uint8Array(0) }
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    for await (const chunk of request.body) {
      // The wait for it has ended, and with it the count: nothing more may be kept.
      if (holding.isOver) break
      bytes += chunk.byteLength
      if (bytes > this.#options.discardBytesMax) return tooLarge(maxBytes, hint, false)
      if (bytes > maxBytes) {
        chunks.length = 0
        this.#hold(holding, 0)
      } else {
        if (this.#heldBytes + chunk.byteLength > this.#options.heldBytesMax) return tooManyBodies()
        chunks.push(chunk)
        this.#hold(holding, bytes)
      }
    }
    return bytes > maxBytes ? tooLarge(maxBytes, hint, true) : { bytes: Buffer.concat(chunks, bytes) }
  }

  #hold(holding: Holding, bytes: number): void {
    this.#heldBytes += bytes - holding.bytes
    holding.bytes = bytes
  }

  async #refuseTooLarge(request: Request, maxBytes: number, hint: string): Promise<BodyRead> {
    const isGone = () => false
    const isConsumed = await this.#deadlines.within(this.#discard(request), isGone, isGone)
    return tooLarge(maxBytes, hint, isConsumed)
  }

  /** Whether the whole body is gone. */
  async #discard(request: Request): Promise<boolean> {
    let bytes = 0
    if (request.body === null) return true
    for await (const chunk of request.body) {
      bytes += chunk.byteLength
      if (bytes > this.#options.discardBytesMax) return false
    }
    return true
  }

  readonly #tooSlow = (): BodyRead => ({
    problem: new RequestTimeout({
      detail: `The body did not arrive within ${formatDuration(this.#options.timeoutMs)}. Send it without pauses, or raise TIMER_BODY_TIMEOUT.`,
    }),
    isConsumed: false,
  })
}

/** What one request has of the bytes held in all. */
interface Holding {
  bytes: number
  isOver: boolean
}

const readAtOnce = async (request: Request): Promise<BodyRead> => ({ bytes: await request.bytes() })

const tooLarge = (maxBytes: number, hint: string, isConsumed: boolean): BodyRead => ({
  problem: new BodyTooLarge({ detail: `The body must be at most ${maxBytes} bytes${hint}.` }),
  isConsumed,
})

/** There is most likely nobody left to read this. */
const brokenOff = (): BodyRead => ({
  problem: new InvalidJson({ detail: "The body ended before its declared length." }),
  isConsumed: false,
})

const tooManyBodies = (): BodyRead => ({
  problem: new Overloaded({
    detail: "Too many bytes of requests are under way, which is a fixed limit: try again.",
    retryAfterSeconds: 1,
    written: "no",
  }),
  isConsumed: false,
})
