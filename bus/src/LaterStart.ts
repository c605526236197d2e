// What a bus does before its broker has answered for the first time: a publish waits for the broker within its time
// limit, and a group subscribes as soon as it can.
import { Effect, type Scope } from "effect"
import type { BrokerStart } from "./BrokerStart.ts"
import { type BusError, PublishError, type Subscription } from "./Bus.ts"

const firstPauseMs = 1_000
const longestPauseMs = 10_000

export interface LaterSubscription<Begun> {
  readonly start: BrokerStart<Begun>
  readonly subscription: Subscription
  subscribeTo(begun: Begun, subscription: Subscription): Effect.Effect<void, BusError, Scope.Scope>
  /** The groups that have not subscribed yet, each with the reason. */
  readonly waiting: Map<string, string>
  /** Called if the broker refuses the group for good. */
  readonly onRefused: ((message: string) => void) | undefined
}

/**
 * Subscribes when the broker is reachable. A failure is retried; a permanent one calls `onRefused`. Repeated failures
 * with the same message are logged once.
 */
export const subscribeLater = <Begun>({
  start,
  subscription,
  subscribeTo,
  waiting,
  onRefused,
}: LaterSubscription<Begun>): Effect.Effect<void, never, Scope.Scope> => {
  const { group } = subscription
  waiting.set(group, `the group ${group} has not subscribed yet`)
  const attempts = Effect.gen(function* () {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
      const tried = yield* Effect.result(
        Effect.flatMap(start.await, (begun) => subscribeTo(begun, subscription)),
      )
      if (tried._tag === "Success") break
      const { message, isPermanent } = tried.failure
      if (isPermanent === true) return onRefused?.(message)
      const why = `the group ${group} cannot subscribe yet: ${message}`
      const isNews = waiting.get(group) !== why
      waiting.set(group, why)
      if (isNews) yield* Effect.logWarning(why)
      yield* Effect.sleep(pauseMs)
    }
    waiting.delete(group)
  })
  return Effect.asVoid(Effect.forkScoped(attempts))
}

/** Waits for the broker, as long as a publish may take. */
export const whenBegun = <Begun>(
  start: BrokerStart<Begun>,
  withinMs: number,
): Effect.Effect<Begun, PublishError> =>
  start.await.pipe(
    Effect.mapError(({ message }) => new PublishError({ message, isPermanent: false })),
    Effect.timeoutOrElse({
      duration: withinMs,
      orElse: () =>
        Effect.fail(new PublishError({ message: start.whyWaiting() ?? "timed out", isPermanent: false })),
    }),
  )
