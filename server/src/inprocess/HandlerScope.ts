// Finds out whether a running handler makes a call. An advance of the clock waits until every handler has ended. A
// handler that waits for an advance would therefore wait for itself until its timeout, and again on each attempt.
import { AsyncLocalStorage } from "node:async_hooks"
import type { Handler } from "../deliverers/handler/HandlerDeliverer.ts"

export class HandlerScope {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>()

  /** Whether the current code runs inside a handler that has not ended. */
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
