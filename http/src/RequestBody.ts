// Reads the body of a request within limits: its size, the time that it takes to arrive, and the total size of all
// bodies in memory. Only bytes that have arrived count, not the announced length: otherwise a few connections that
// announce much and send nothing could block all others. If the memory is used up, bodies that have stalled give way
// (ArrivingBodies.ts). A body that is too large is refused as soon as this is known: by its announced length, or by the
// bytes that have arrived. The connection drops the rest of it after the answer.
import { formatDuration } from "@punctual/api/DurationMs"
import { BodyTooLarge, InvalidJson, Overloaded, type Problem, RequestTimeout } from "@punctual/api/Problem"
import { ArrivingBodies, ArrivingBody } from "./ArrivingBodies.ts"
import { Deadlines } from "./Deadlines.ts"
import { GrowingBytes, type GrowingBytesOptions } from "./GrowingBytes.ts"
import type { BodyReceiver, HttpRequest } from "./HttpRequest.ts"

export interface RequestBodyOptions {
  /** The longest time from the end of the headers to the end of the body. */
  readonly timeoutMs: number
  /** The name of the setting with this time, for clients that were too slow. */
  readonly timeoutSetting?: string
  /**
   * A body with at most this declared length is never refused because of memory: the limits of connections and of calls
   * at once also limit these bodies together (10,000 of 16 KiB are 160 MiB).
   */
  readonly smallBytes: number
  /** The largest total size of all other bodies in memory. */
  readonly heldBytesMax: number
  /** The largest total size of those of one address, so that one client cannot use up the memory for all others. */
  readonly heldBytesPerAddressMax: number
  /** A body without progress for this long gives way if one of these two limits is reached. */
  readonly stalledAfterMs: number
  /** Is called after the call of a body above this size has ended, because most of what the call needed is unused now. */
  readonly afterLarge?: { readonly bytes: number; readonly run: () => void }
}

const mebibyte = 1024 * 1024

export const defaultBodyOptions: RequestBodyOptions = {
  timeoutMs: 30_000,
  smallBytes: 16 * 1024,
  // A body and the payloads that are cut out of it are in memory at the same time. Together they fit into 400 MiB with
  // everything else.
  heldBytesMax: 48 * mebibyte,
  heldBytesPerAddressMax: 32 * mebibyte,
  stalledAfterMs: 1_000,
}

export type BodyRead = { readonly bytes: Uint8Array } | { readonly problem: Problem }

export class RequestBodies {
  readonly #options: RequestBodyOptions
  readonly #deadlines: Deadlines
  readonly #arriving: ArrivingBodies

  constructor(options: RequestBodyOptions, nowMs: () => number = () => performance.now()) {
    this.#options = options
    this.#deadlines = new Deadlines(options.timeoutMs)
    this.#arriving = new ArrivingBodies({
      bytesMax: options.heldBytesMax,
      bytesPerAddressMax: options.heldBytesPerAddressMax,
      stalledAfterMs: options.stalledAfterMs,
      nowMs,
    })
  }

  /** The bytes count as in memory until the promise of `use` is settled. `hint` names the setting of the limit. */
  withBody<A>(
    request: HttpRequest,
    maxBytes: number,
    use: (read: BodyRead) => Promise<A>,
    hint = "",
  ): Promise<A> {
    const { arrived, declaredBytes } = request.body
    if (Math.max(arrived?.byteLength ?? 0, declaredBytes ?? 0) > maxBytes)
      return use(tooLarge(maxBytes, hint))
    // Most bodies are small and arrive together with their head.
    if (arrived !== undefined && arrived.byteLength <= this.#options.smallBytes)
      return use({ bytes: arrived })
    return this.#withLargeBody(request, maxBytes, use, hint)
  }

  async #withLargeBody<A>(
    request: HttpRequest,
    maxBytes: number,
    use: (read: BodyRead) => Promise<A>,
    hint: string,
  ): Promise<A> {
    const { body, addressGroup } = request
    const isSmall = body.declaredBytes !== undefined && body.declaredBytes <= this.#options.smallBytes
    const { promise, resolve } = Promise.withResolvers<BodyRead>()
    const arriving = new ArrivingBody(addressGroup, () => receiver.giveWay())
    const drop = (): void => this.#arriving.release(arriving)
    const receiver = new Collector({
      maxBytes,
      declaredBytes: body.declaredBytes,
      hold: (bytes) => isSmall || this.#arriving.hold(arriving, bytes),
      drop,
      onEnd: (read) => {
        this.#arriving.arrived(arriving)
        resolve(read)
      },
      tooLarge: () => tooLarge(maxBytes, hint),
    })
    let usedBytes = 0
    try {
      body.receive(receiver)
      const read = await this.#deadlines.within(promise, this.#tooSlow, brokenOff)
      // After a time-out, nothing more may be kept.
      receiver.stop()
      if ("bytes" in read) usedBytes = read.bytes.byteLength
      return await use(read)
    } finally {
      drop()
      receiver.free()
      const { afterLarge } = this.#options
      if (afterLarge !== undefined && usedBytes > afterLarge.bytes) afterLarge.run()
    }
  }

  readonly #tooSlow = (): BodyRead => {
    const { timeoutMs, timeoutSetting } = this.#options
    const orRaise = timeoutSetting === undefined ? "" : `, or raise ${timeoutSetting}`
    const detail = `The body did not arrive within ${formatDuration(timeoutMs)}. Send it without pauses${orRaise}.`
    return { problem: new RequestTimeout({ detail }) }
  }
}

interface CollectorOptions extends GrowingBytesOptions {
  /** Counts more bytes, unless there is no room. */
  readonly hold: (bytes: number) => boolean
  /** Nothing of the body is in memory any more. */
  readonly drop: () => void
  readonly onEnd: (read: BodyRead) => void
  readonly tooLarge: () => BodyRead
}

class Collector implements BodyReceiver {
  readonly #options: CollectorOptions
  readonly #collected: GrowingBytes
  #bytes = 0
  #isOver = false

  constructor(options: CollectorOptions) {
    this.#options = options
    this.#collected = new GrowingBytes(options)
  }

  chunk(piece: Uint8Array): void {
    if (this.#isOver) return
    const { maxBytes, hold, tooLarge: problem } = this.#options
    this.#bytes += piece.byteLength
    if (this.#bytes > maxBytes) this.#refuse(problem())
    else if (hold(piece.byteLength)) this.#collected.append(piece)
    else this.#end(tooManyBodies())
  }

  end(): void {
    this.#end({ bytes: this.#collected.bytes })
  }

  broken(): void {
    this.#end(brokenOff())
  }

  stop(): void {
    this.#isOver = true
  }

  /** Ends the body before it has arrived, because others need the memory. */
  giveWay(): void {
    this.#refuse(tooSlowForOthers())
  }

  free(): void {
    this.#isOver = true
    this.#collected.free()
  }

  /** Ends the body, and frees its memory at once. */
  #refuse(read: BodyRead): void {
    this.#end(read)
    this.#options.drop()
    this.free()
  }

  #end(read: BodyRead): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onEnd(read)
  }
}

const tooLarge = (maxBytes: number, hint: string): BodyRead => ({
  problem: new BodyTooLarge({ detail: `The body must be at most ${maxBytes} bytes${hint}.` }),
})

/** The client has most likely closed the connection and will not read this. */
const brokenOff = (): BodyRead => ({
  problem: new InvalidJson({ detail: "The body ended before its declared length." }),
})

const tooManyBodies = (): BodyRead =>
  overloaded(
    "The bodies of running requests use too much memory. This limit is fixed. Nothing was written: retry.",
  )

const tooSlowForOthers = (): BodyRead =>
  overloaded(
    "The body stopped arriving while other bodies needed the memory. Nothing was written: retry, and send it without pauses.",
  )

const overloaded = (detail: string): BodyRead => ({
  problem: new Overloaded({ detail, retryAfterSeconds: 1, written: "no" }),
})
