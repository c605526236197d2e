// Randomness that can be repeated: the same seed gives the same choices. A test that uses it puts the seed into its
// failure message, and takes a seed from PUNCTUAL_SEED.

export class SeededRandom {
  readonly seed: number
  #state: number

  constructor(seed = Number(process.env["PUNCTUAL_SEED"] ?? Math.floor(Math.random() * 2 ** 32))) {
    this.seed = seed
    this.#state = (seed | 0) === 0 ? 1 : seed | 0
  }

  /** In [0, 1). */
  next(): number {
    // A 32-bit xorshift. It never leaves zero, so it must not start at zero.
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `exclusiveMax` - 1. */
  below(exclusiveMax: number): number {
    return Math.floor(this.next() * exclusiveMax)
  }

  oneOf<T>(choices: readonly [T, ...ReadonlyArray<T>]): T {
    return choices[this.below(choices.length)] ?? choices[0]
  }
}
