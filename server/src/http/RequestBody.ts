// Reads the body of a request within limits: its size, the time that it takes to arrive, and the total size of all
// bodies in memory. Only bytes that have arrived count, not the announced length: otherwise a few connections that
// announce much and send nothing could block all others. The runtime has its own limit, but it answers without a
// problem document. So that limit is set far higher, and bodies that are too large are read and dropped here, up to
// another limit.
import { formatDuration } from "@punctual/api/DurationMs"
import { BodyTooLarge, InvalidJson, Overloaded, type Problem, RequestTimeout } from "@punctual/api/Problem"
import { Deadlines } from "./Deadlines.ts"

export interface RequestBodyOptions {
  /** The longest time from the end of the headers to the end of the body. */
  readonly timeoutMs: number
  /**
   * A body with at most this declared length is read at once and never refused because of memory: the limit of calls at
   * once also limits these bodies together (4,096 of 16 KiB are 64 MiB).
   */
  readonly smallBytes: number
  /** The largest total size of all other bodies in memory. */
  readonly heldBytesMax: number
  /** How much of a body that is too large is read before the connection is closed. */
  readonly discardBytesMax: number
}

export const defaultBodyOptions: RequestBodyOptions = {
  timeoutMs: 30_000,
  smallBytes: 16 * 1024,
  heldBytesMax: 256 * 1024 * 1024,
  // A client that is still writing when its connection closes often reports that error instead of the answer.
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

  /** The bytes count as in memory until the promise of `use` is settled. `hint` names the setting of the limit. */
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
      // The wait has ended, and the bytes are no longer counted: nothing more may be kept.
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

  /** Returns whether the whole body was read. */
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

/** The bytes of one request in memory. */
interface Holding {
  bytes: number
  isOver: boolean
}

const readAtOnce = async (request: Request): Promise<BodyRead> => ({ bytes: await request.bytes() })

const tooLarge = (maxBytes: number, hint: string, isConsumed: boolean): BodyRead => ({
  problem: new BodyTooLarge({ detail: `The body must be at most ${maxBytes} bytes${hint}.` }),
  isConsumed,
})

/** The client has most likely closed the connection and will not read this. */
const brokenOff = (): BodyRead => ({
  problem: new InvalidJson({ detail: "The body ended before its declared length." }),
  isConsumed: false,
})

const tooManyBodies = (): BodyRead => ({
  problem: new Overloaded({
    detail:
      "The bodies of running requests use too much memory. This limit is fixed. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  }),
  isConsumed: false,
})
