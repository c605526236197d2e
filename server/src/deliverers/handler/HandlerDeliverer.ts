// Delivers a timer to a function of this process, for programs with Punctual inside them, and for tests and benchmarks
// without a network. If the handler returns, the timer is delivered. If it throws, the retry policy decides.
import { formatDuration } from "@punctual/api/DurationMs"
import { Cause, Effect, Exit } from "effect"
import { timeoutTexts } from "../../domain/errorClassOf.ts"
import type { Deliverer, Delivery, Fire, NextTime } from "../../ports/Deliverer.ts"

/** The answer of a handler that wants the timer to fire again, with a new payload if there is one. */
export interface HandlerAnswer {
  readonly next: NextTime
  readonly payload?: Uint8Array
}

type Said = HandlerAnswer | undefined

/** A plain function, an async function, or one that returns an Effect, which may return any outcome. */
export type Handler = (
  fire: Fire,
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing.
) => void | Said | Promise<void | Said> | Effect.Effect<void | Said | Delivery>

export interface HandlerDeliverer extends Deliverer {
  /** Sets the handler of a namespace, and replaces an earlier one. */
  on(namespace: string, handler: Handler): void
  begin(fire: Fire, onSent?: () => void): Effect.Effect<Delivery>
}

export const makeHandlerDeliverer = (options?: { readonly timeoutMs?: number }): HandlerDeliverer => {
  const timeoutMs = options?.timeoutMs ?? 15_000
  const handlers = new Map<string, Handler>()
  const listeners: Array<() => void> = []
  const begin = (fire: Fire, onSent?: () => void): Effect.Effect<Delivery> => {
    onSent?.()
    return call(handlers.get(fire.namespace), fire, timeoutMs)
  }
  return {
    on: (namespace, handler) => {
      handlers.set(namespace, handler)
      for (const listener of listeners) listener()
    },
    deliver: (fire, onSent) => Effect.suspend(() => begin(fire, onSent)),
    begin,
    hostOf: () => "handler",
    presence: {
      isThere: (namespace) => handlers.has(namespace),
      absence: {
        reason: "noSubscriber",
        detail: "The program has registered no handler for the namespace.",
      },
      onArrival: (listener) => {
        listeners.push(listener)
      },
    },
  }
}

const call = (handler: Handler | undefined, fire: Fire, timeoutMs: number): Effect.Effect<Delivery> => {
  if (handler === undefined) return missing
  try {
    const said = handler(fire)
    if (said === undefined) return delivered
    if (said instanceof Promise) {
      return bounded(Effect.tryPromise({ try: () => said, catch: (error) => error }), timeoutMs)
    }
    return Effect.isEffect(said) ? bounded(said, timeoutMs) : Exit.succeed(deliveryOf(said))
  } catch (error) {
    return Exit.succeed(failed(error))
  }
}

/** An asynchronous handler has a timeout like any receiver, and is interrupted together with the attempt. */
const bounded = (
  // biome-ignore lint/suspicious/noConfusingVoidType: see Handler.
  running: Effect.Effect<void | Said | Delivery, unknown>,
  timeoutMs: number,
): Effect.Effect<Delivery> =>
  running.pipe(
    Effect.map(deliveryOf),
    // A handler that interrupts itself has failed too. An interrupted attempt does not reach this line.
    Effect.catchCause((cause) => Effect.succeed(failed(Cause.squash(cause)))),
    Effect.timeoutOrElse({
      duration: timeoutMs,
      orElse: () => Effect.succeed(retry(`${timeoutTexts.handler} ${formatDuration(timeoutMs)}`, true)),
    }),
  )

// biome-ignore lint/suspicious/noConfusingVoidType: see Handler.
const deliveryOf = (said: void | Said | Delivery): Delivery => {
  if (said === undefined) return done
  return "kind" in said ? said : { kind: "rearm", ...said }
}

const done: Delivery = { kind: "delivered" }
const delivered = Exit.succeed(done)

const retry = (error: string, isHostFailure: boolean): Delivery => ({ kind: "retry", error, isHostFailure })

/** Timers wait for a handler. This is for an attempt that starts without one. */
const missing = Exit.succeed(retry("no handler is registered for the namespace", true))

/** An error for one timer says nothing about the next timer, so the breaker does not count it. */
const failed = (error: unknown): Delivery => {
  const text = error instanceof Error ? error.message : String(error)
  return retry(`the handler failed: ${text}`.slice(0, 200), false)
}
