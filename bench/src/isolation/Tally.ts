// Counts what an attacker gets: answers by status, and connections that were closed or refused.
import type { Counts } from "./AttackTerms.ts"

export class Tally {
  readonly #counts = new Map<string, number>()

  add(event: string | number, times = 1): void {
    if (times > 0) this.#counts.set(String(event), (this.#counts.get(String(event)) ?? 0) + times)
  }

  get counts(): Counts {
    return Object.fromEntries(this.#counts)
  }
}
