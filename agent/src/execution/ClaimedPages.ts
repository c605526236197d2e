// Reads all claimed attempts page by page, and then begins again. Attempts that cannot begin, because their tenant has no
// place or their call has ended, would otherwise hide all later ones from every read of the oldest.
import type { ClaimedSpan, StoredAttempt } from "../ports/CallStore.ts"

export class ClaimedPages {
  readonly #size: number
  #fromMs = 0

  constructor(size: number) {
    this.#size = size
  }

  next(exclusiveBeforeMs: number): ClaimedSpan {
    return { fromMs: this.#fromMs, exclusiveBeforeMs }
  }

  /** The next page begins with the instant of the last attempt, because there may be more attempts of this instant. */
  wasRead(page: ReadonlyArray<Pick<StoredAttempt, "claimedAt">>): void {
    const last = page.length < this.#size ? undefined : page.at(-1)
    this.#fromMs = last === undefined ? 0 : Math.max(last.claimedAt, this.#fromMs + 1)
  }
}
