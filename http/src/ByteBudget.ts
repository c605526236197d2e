// Limits how many bytes clients make the service hold: in total, and for each group of addresses, so that one client
// cannot use up the room of all others.

export interface ByteBudgetOptions {
  readonly bytesMax: number
  readonly bytesPerAddressMax: number
}

export class ByteBudget {
  readonly #options: ByteBudgetOptions
  readonly #byAddress = new Map<string, number>()
  #bytes = 0

  constructor(options: ByteBudgetOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Counts the bytes if both limits allow it, and returns whether they do. */
  take(address: string, bytes: number): boolean {
    if (this.#bytes + bytes > this.#options.bytesMax || !this.isWithinShare(address, bytes)) return false
    this.#bytes += bytes
    if (bytes > 0) this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + bytes)
    return true
  }

  /** Whether the limit of the address allows the bytes. */
  isWithinShare(address: string, bytes: number): boolean {
    return (this.#byAddress.get(address) ?? 0) + bytes <= this.#options.bytesPerAddressMax
  }

  /** Counts `to` bytes instead of `from`. Returns how many count now: none if the limits do not allow `to`. */
  change(address: string, from: number, to: number): number {
    if (from === to) return to
    this.giveBack(address, from)
    return this.take(address, to) ? to : 0
  }

  giveBack(address: string, bytes: number): void {
    const left = (this.#byAddress.get(address) ?? 0) - bytes
    this.#bytes -= bytes
    if (left > 0) this.#byAddress.set(address, left)
    else this.#byAddress.delete(address)
  }
}
