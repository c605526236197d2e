/** The client: one object for a service, with the calls about timers. Operators also use `@punctual/client/admin`. */
import { type Answer, Caller } from "./core/Caller.ts"
import { Connection } from "./core/Connection.ts"
import { type CallOptions, type PunctualOptions, settingsOf } from "./core/options.ts"
import { Timers } from "./Timers.ts"

/**
 * A client of one service.
 *
 * ```ts
 * const punctual = new Punctual({ url: "https://timers.example.com", namespace: "billing" })
 * await punctual.timers.create({ timerId: "trial-42", delay: "14d", callbackUrl: "https://shop.example/hooks" })
 * ```
 */
export class Punctual {
  /** The calls about timers. */
  readonly timers: Timers
  readonly #caller: Caller

  /** Reads `TIMER_URL` and `TIMER_API_KEY` if `url` and `key` are left out. */
  constructor(options: PunctualOptions = {}) {
    this.#caller = new Caller(new Connection(settingsOf(options)), options.namespace, options.delayFrom)
    this.timers = new Timers(this.#caller)
  }

  /**
   * Calls an operation by its id in the OpenAPI document, such as `timers.create`, with the fields as they are. Use it
   * for calls that this version does not know, or if you need the exact text of an answer.
   */
  exchange<Value = unknown>(
    operation: string,
    fields: object,
    options?: CallOptions,
  ): Promise<Answer<Value>> {
    return this.#caller.exchange(operation, fields, options)
  }

  /** The inside of a client, for the other parts of this package. It can change with every version. */
  static callerOf(punctual: Punctual): Caller {
    return punctual.#caller
  }
}
