// All randomness of a simulation comes from one seed. Each part draws from its own stream. One more draw in one part
// therefore does not change the choices of the other parts.
import { SeededRandom } from "../SeededRandom.ts"

export class Chance extends SeededRandom {
  /** The random stream that has this name under the seed. */
  static of(seed: number, name: string): Chance {
    return new Chance(scramble(seed, name))
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  /** Mostly near `min`, and now and then as far as `max`. Waits in the real world look like this. */
  skewed(min: number, max: number): number {
    return Math.round(min + (max - min) * this.next() ** 3)
  }

  /** Picks one of the choices. Each choice comes as often as its weight says. */
  weighted<T>(choices: ReadonlyArray<readonly [weight: number, choice: T]>): T | undefined {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return choices.at(-1)?.[1]
  }
}

/** Seeds are small consecutive numbers. Without this step their first draws would all be similar. */
const scramble = (seed: number, name: string): number => {
  let hash = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b)
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85eb_ca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
