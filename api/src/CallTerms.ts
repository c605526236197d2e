/**
 * What an endpoint declares about itself besides its schemas, so that no server has to know an endpoint by its name:
 * the right that its caller needs, how large its body may be, and how long and when it answers.
 */
import { Context } from "effect"

/** What a caller may be allowed to do. An action that has no namespace concerns the whole service. */
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
    /** Which limit bounds its body, where that is not the usual one. */
    readonly bodyLimit?: "createManyBodyBytes"
    /** How long the answer may take, where the call bounds its own time and needs more than the usual limit. */
    readonly answerWithinMs?: number
    /** Answered also while the service waits for its store or stops. */
    readonly answersWhenClosed?: boolean
  }
>()("punctual/api/CallTerms") {}
