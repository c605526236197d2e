// Reads the body of a request within limits: its size, the time that it takes to arrive, and the total size of all
// bodies in memory. Only bytes that have arrived count, not the announced length: otherwise a few connections that
// announce much and send nothing could block all others. The runtime has its own limit, but it answers without a
// problem document. So that limit is set far higher, and bodies that are too large are read and dropped here, up to
// another limit.
import { formatDuration } from "@punctual/api/DurationMs"
import { BodyTooLarge, InvalidJson, Overloaded, type Problem, RequestTimeout } from "@punctual/api/Problem"
import { Deadlines } from "./Deadlines.ts"
import { nextTurn } from "./nextTurn.ts"

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
  // A body and the payloads that are cut out of it are in memory at the same time. Together they fit into 400 MiB with
  // everything else.
  heldBytesMax: 64 * 1024 * 1024,
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
    const holding: Holding = { bytes: 0, isOver: false, whole: undefined }
    try {
      const read = this.#readAsItArrives(request, { maxBytes, declaredBytes }, holding, hint)
      return await use(await this.#deadlines.within(read, this.#tooSlow, brokenOff))
    } finally {
      holding.isOver = true
      this.#hold(holding, 0)
      // Frees the memory now. The runtime would free it much later, because it does not know that memory is scarce.
      holding.whole?.buffer.transfer(0)
    }
  }

  async #readAsItArrives(
    request: Request,
    { maxBytes, declaredBytes }: BodySize,
    holding: Holding,
    hint: string,
  ): Promise<BodyRead> {
    if (request.body === null) return { bytes: noBytes }
    const arrived = new ArrivedBytes(declaredBytes, holding)
    let bytes = 0
    for await (const chunk of request.body) {
      // The wait has ended, and the bytes are no longer counted: nothing more may be kept.
      if (holding.isOver) break
      bytes += chunk.byteLength
      if (bytes > this.#options.discardBytesMax) return tooLarge(maxBytes, hint, false)
      if (bytes > maxBytes) {
        arrived.drop()
        this.#hold(holding, 0)
      } else {
        if (this.#heldBytes + chunk.byteLength > this.#options.heldBytesMax) return tooManyBodies()
        arrived.add(chunk)
        this.#hold(holding, bytes)
      }
    }
    return bytes > maxBytes ? tooLarge(maxBytes, hint, true) : { bytes: await arrived.all() }
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
  /** The memory for the whole body. */
  whole: Uint8Array<ArrayBuffer> | undefined
}

interface BodySize {
  readonly maxBytes: number
  readonly declaredBytes: number | undefined
}

const readAtOnce = async (request: Request): Promise<BodyRead> => ({ bytes: await request.bytes() })

/** How many bytes are copied at once. */
const copiedAtOnce = 1024 * 1024

/**
 * The bytes of a body that have arrived. If the length is declared, each chunk is copied to its place at once, and the
 * chunk is no longer needed. Memory that was reserved and never written to takes no room.
 */
class ArrivedBytes {
  readonly #declaredBytes: number | undefined
  readonly #holding: Holding
  #chunks: Array<Uint8Array> = []
  #bytes = 0

  constructor(declaredBytes: number | undefined, holding: Holding) {
    this.#declaredBytes = declaredBytes
    this.#holding = holding
  }

  add(chunk: Uint8Array): void {
    const place = this.#bytes
    this.#bytes += chunk.byteLength
    if (this.#declaredBytes === undefined) this.#chunks.push(chunk)
    else {
      this.#holding.whole ??= new Uint8Array(this.#declaredBytes)
      this.#holding.whole.set(chunk, place)
    }
  }

  drop(): void {
    this.#chunks = []
  }

  /** Joining 16 MiB at once would hold the thread for about ten milliseconds. */
  async all(): Promise<Uint8Array> {
    if (this.#chunks.length === 0) return this.#holding.whole?.subarray(0, this.#bytes) ?? noBytes
    const whole = new Uint8Array(this.#bytes)
    this.#holding.whole = whole
    let at = 0
    let copied = 0
    for (const [index, chunk] of this.#chunks.entries()) {
      whole.set(chunk, at)
      at += chunk.byteLength
      copied += chunk.byteLength
      this.#chunks[index] = noBytes
      if (copied >= copiedAtOnce) {
        copied = 0
        await nextTurn()
      }
    }
    return whole
  }
}

const noBytes = new Uint8Array(0)

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
