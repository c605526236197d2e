// The bytes of a body that arrives in pieces, in one buffer. A list of pieces would cost far more memory if the pieces are
// tiny. The buffer grows with what has arrived. It gets the declared length only after a part of the body has arrived:
// the runtime counts all of a buffer as used memory, and looks for garbage all the time if thousands of clients announce
// large bodies and send a few bytes.

export interface GrowingBytesOptions {
  readonly maxBytes: number
  /** At most `maxBytes`. */
  readonly declaredBytes: number | undefined
}

/** Up to here a buffer has at most twice as many bytes as have arrived. */
export const slowGrowthBytes = 64 * 1024

export class GrowingBytes {
  readonly #options: GrowingBytesOptions
  #buffer = new Uint8Array(0)
  #length = 0

  constructor(options: GrowingBytesOptions) {
    this.#options = options
  }

  /** What has arrived, without a copy. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  get capacityBytes(): number {
    return this.#buffer.byteLength
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.byteLength
    if (length > this.#buffer.byteLength) this.#grow(length)
    this.#buffer.set(piece, this.#length)
    this.#length = length
  }

  /** Frees the memory now. The runtime would free it much later, because it does not know that memory is scarce. */
  free(): void {
    this.#buffer.buffer.transfer(0)
    this.#buffer = new Uint8Array(0)
    this.#length = 0
  }

  #grow(length: number): void {
    const { maxBytes, declaredBytes = maxBytes } = this.#options
    const isDeclared = this.#options.declaredBytes !== undefined && length > slowGrowthBytes
    const before = this.#buffer
    this.#buffer = new Uint8Array(
      Math.max(length, isDeclared ? declaredBytes : Math.min(declaredBytes, 2 * length)),
    )
    this.#buffer.set(before.subarray(0, this.#length))
    before.buffer.transfer(0)
  }
}
