// All chance of a simulation comes from one seed. Each part draws from a stream of its own, so that one more
// draw in one place does not turn every other choice of the seed upside down.
import { SeededRandom } from "../SeededRandom.ts"

export class Chance extends SeededRandom {
  /** The stream of this name under the seed. */
  static of(seed: number, name: string): Chance {
    return new Chance(scramble(seed, name))
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number; both ends included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  /** Mostly near `min`, now and then as far as `max`: as waits in the real world are. */
  skewed(min: number, max: number): number {
    return Math.round(min + (max - min) * this.next() ** 3)
  }

  /** One of the choices, each as often as its weight says. */
  weighted<T>(choices: ReadonlyArray<readonly [weight: number, choice: T]>): T | undefined {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return choices.at(-1)?.[1]
  }
}

/** Seeds are small numbers in a row: without this their first draws would all be alike. */
const scramble = (seed: number, name: string): number => {
  let hash = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b)
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85eb_ca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
