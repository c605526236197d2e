/**
 * What an endpoint declares besides its schemas, so that no server needs special code for an endpoint: the right that
 * the caller needs, the largest body, the longest time to answer, whether only a few run at once, whether it answers
 * while the service is closed, and whether it is audited.
 */
import { Context } from "effect"

/** The rights that a caller can have. An action without a namespace concerns the whole service. */
export const actions = [
  "timers.read",
  "timers.write",
  "timers.cancel",
  "payload.read",
  "dead.replay",
  "dead.discard",
  "namespaces.read",
  "namespaces.write",
  "service.read",
  "service.write",
  "clock.advance",
  "bus.read",
  "bus.write",
  "metrics.read",
  "audit.read",
  "keys.manage",
  "calls.read",
  "calls.write",
] as const

export type Action = (typeof actions)[number]

/** What an endpoint asks of its caller. `none`: any valid key is enough, or the call checks the caller itself. */
export type NeededAction = Action | "none"

/** Whether calls with this action only read. Such a call never writes, whatever goes wrong. */
export const isReading = (action: NeededAction): boolean => action.endsWith(".read")

export class CallTerms extends Context.Service<
  CallTerms,
  {
    /** The right that the caller needs. */
    readonly action: NeededAction
    /** The call itself checks the caller's rights in each namespace. The caller needs the action in at least one. */
    readonly checksNamespaces?: true
    /** The call concerns the whole service, although its body may name namespaces. */
    readonly concernsService?: true
    /** The call is answered without a key, also while keys are in force. */
    readonly needsNoKey?: true
    /** The limit of its body, if it is not the usual one. */
    readonly bodyLimit?: "createManyBodyBytes"
    /** How long the answer may take, for a call that limits its own time and needs more than usual. */
    readonly answerWithinMs?: number
    /** The call reads many rows, so only a few of its kind run at once. The others wait for a turn. */
    readonly takesTurns?: true
    /** The call is also answered while the service waits for its store or stops. */
    readonly answersWhenClosed?: boolean
    /** It is an action of an operator: the audit trail gets a record of each call that changed something. */
    readonly isAudited?: boolean
  }
>()("punctual/api/CallTerms") {}
