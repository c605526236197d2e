// A Bloom filter over the keys of a run: it says for sure that a key is not in the run, or that it may be there. So the
// writer does not look into every run for every new key.
import type { TimerKey } from "../../../domain/Timer.ts"

const bitsAKey = 12
/** With 12 bits for each key, one key in 300 seems to be there although it is not. */
const bitsSet = 8
const leastBits = 64

export class KeyFilter {
  readonly bytes: Uint8Array
  readonly #bits: number

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#bits = 8 * bytes.length
  }

  static of(keys: ReadonlyArray<TimerKey>): KeyFilter {
    const filter = new KeyFilter(new Uint8Array(Math.ceil(Math.max(leastBits, bitsAKey * keys.length) / 8)))
    for (const key of keys) filter.#add(key)
    return filter
  }

  mayHave({ uuid }: TimerKey): boolean {
    let hash = startOf(uuid)
    const step = stepOf(uuid)
    for (let count = 0; count < bitsSet; count++) {
      const bit = hash % this.#bits
      if (((this.bytes[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false
      hash = (hash + step) >>> 0
    }
    return true
  }

  #add({ uuid }: TimerKey): void {
    let hash = startOf(uuid)
    const step = stepOf(uuid)
    for (let count = 0; count < bitsSet; count++) {
      const bit = hash % this.#bits
      this.bytes[bit >>> 3] = (this.bytes[bit >>> 3] ?? 0) | (1 << (bit & 7))
      hash = (hash + step) >>> 0
    }
  }
}

/** A uuid is a hash of its key, so its parts can be taken as they are. */
const startOf = (uuid: string): number => Number.parseInt(uuid.slice(0, 8), 16)

/** Odd, so that the steps do not end where they began. */
const stepOf = (uuid: string): number => Number.parseInt(uuid.slice(8, 16), 16) | 1
