// Tells calls that a running handler makes from all others. An advance of the clock waits until every handler has ended:
// one that waits for an advance would wait for itself, until its time-out, and again on each attempt.
import { AsyncLocalStorage } from "node:async_hooks"
import type { Handler } from "../deliverers/handler/HandlerDeliverer.ts"

export class HandlerScope {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>()

  /** Whether whoever asks was called by a handler that has not ended. */
  get isInside(): boolean {
    return this.#calls.getStore()?.hasEnded === false
  }

  around(handler: Handler): Handler {
    return (fire) => {
      const call = { hasEnded: false }
      const end = () => {
        call.hasEnded = true
      }
      let isRunning = false
      try {
        const said = this.#calls.run(call, () => handler(fire))
        isRunning = said instanceof Promise
        return said instanceof Promise ? said.finally(end) : said
      } finally {
        if (!isRunning) end()
      }
    }
  }
}
