// A Bloom filter over the keys of a run: it says for sure that a key is not in the run, or that it may be there. So the
// writer does not look into every run for every new key.
import type { TimerKey } from "../../../domain/Timer.ts"

const bitsAKey = 12
/** With 12 bits for each key, one key in 300 seems to be there although it is not. */
const bitsSet = 8
const leastBits = 64

/** Where the bits of a key begin, and how far they are apart. */
export interface KeyBits {
  readonly start: number
  readonly step: number
}

/** A uuid is a hash of its key, so its parts can be taken as they are. The step is odd, so that it does not end early. */
export const bitsOf = ({ uuid }: Pick<TimerKey, "uuid">): KeyBits => ({
  start: Number.parseInt(uuid.slice(0, 8), 16),
  step: Number.parseInt(uuid.slice(8, 16), 16) | 1,
})

export class KeyFilter {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** An empty filter for so many keys. */
  static for(keys: number): KeyFilter {
    return new KeyFilter(new Uint8Array(Math.ceil(Math.max(leastBits, bitsAKey * keys) / 8)))
  }

  add(key: KeyBits): void {
    const { bytes } = this
    for (let index = 0; index < bitsSet; index++) {
      const bit = this.#bitOf(key, index)
      bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }

  mayHave(key: KeyBits): boolean {
    for (let index = 0; index < bitsSet; index++) {
      const bit = this.#bitOf(key, index)
      if (((this.bytes[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false
    }
    return true
  }

  #bitOf({ start, step }: KeyBits, index: number): number {
    return ((start + Math.imul(index, step)) >>> 0) % (8 * this.bytes.length)
  }
}
