/**
 * What an endpoint declares besides its schemas, so that no server needs special code for an endpoint: the right that
 * the caller needs, the largest body, the longest time to answer, and whether it answers while the service is closed.
 */
import { Context } from "effect"

/** The rights that a caller can have. An action without a namespace concerns the whole service. */
export const actions = [
  "timers.read",
  "timers.write",
  "timers.cancel",
  "dead.replay",
  "dead.discard",
  "namespaces.read",
  "namespaces.write",
  "service.read",
  "service.write",
  "clock.advance",
  "bus.read",
  "bus.write",
] as const

export type Action = (typeof actions)[number]

/** Whether calls with this action only read. Such a call never writes, whatever goes wrong. */
export const isReading = (action: Action): boolean => action.endsWith(".read")

export class CallTerms extends Context.Service<
  CallTerms,
  {
    /** The right that the caller needs. */
    readonly action: Action
    /** The limit of its body, if it is not the usual one. */
    readonly bodyLimit?: "createManyBodyBytes"
    /** How long the answer may take, for a call that limits its own time and needs more than usual. */
    readonly answerWithinMs?: number
    /** The call is also answered while the service waits for its store or stops. */
    readonly answersWhenClosed?: boolean
  }
>()("punctual/api/CallTerms") {}
