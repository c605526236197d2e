// Translates a decoded request to a command for the scheduler. It also makes the checks that no schema can make,
// because they need the time of receipt, the bytes of the payload, or the deliverers of this process.
import { type CreateTimer, targetOf } from "@punctual/api/CreateTimer"
import { formatDuration } from "@punctual/api/DurationMs"
import { invalidField } from "@punctual/api/invalidRequest"
import { type Limits, limitHint } from "@punctual/api/Limits"
import { EgressRefused, Forbidden, InvalidRequest } from "@punctual/api/Problem"
import { completeRetryPolicy, defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { completeOnDead } from "@punctual/api/Target"
import type { UpdateTimer } from "@punctual/api/UpdateTimer"
import type { Mutable, RetryPolicy, Spec, Target } from "../domain/Timer.ts"
import { addedIn, copyAdded } from "../domain/timerFields.ts"
import type { CreateCommand, UpdateCommand } from "../engine/front/Scheduler.ts"

export interface CommandTerms {
  readonly limits: Limits
  /** The target types that this process can deliver to. */
  readonly targetTypes: ReadonlySet<Target["type"]>
  /** Why the egress rules refuse a target without a lookup; `undefined` if they do not. */
  readonly refusalOf: (target: Target) => string | undefined
  /** The default retry policy of a namespace. */
  readonly retryPolicyOf: (namespace: string) => RetryPolicy
  /**
   * Specs of creates that name only a URL, by URL. Most timers share a few specs, so their derived data can be shared
   * too. Namespaces with their own retry policy are excluded, because the policy may change.
   */
  readonly plainSpecs: Map<string, Spec>
}

const mostPlainSpecs = 1_000

/** The payload as it was sent, the time of receipt, and a pointer to the request for errors. */
export interface Received {
  /** The UTF-8 bytes of its JSON text. */
  readonly payload: Uint8Array | undefined
  readonly at: number
  readonly pointer: string
}

/** Why a request does not become a command. */
export type RefusedCommand = InvalidRequest | EgressRefused | Forbidden

export const isRefusedCommand = (made: object): made is RefusedCommand =>
  made instanceof InvalidRequest || made instanceof EgressRefused || made instanceof Forbidden

export const createCommand = (
  request: CreateTimer,
  received: Received,
  terms: CommandTerms,
): CreateCommand | RefusedCommand => {
  const executeAt = executeAtOf(request, received.at)
  const spec = specOf(request, terms)
  const { payload } = received
  const refused =
    whyTooFar(executeAt, received, terms) ??
    whyTooLarge(payload, received, terms) ??
    whyNoTarget(spec?.target, "target", received, terms) ??
    whyNoTarget(spec?.onDead, "onDead", received, terms) ??
    whyEgressRefused(spec?.target, urlField(request), received, terms) ??
    whyEgressRefused(spec?.onDead, "onDead/url", received, terms)
  if (refused !== undefined) return refused
  if (executeAt === undefined || spec === undefined) {
    throw new Error("a create without a time or a target has passed its schema")
  }
  const command: Mutable<CreateCommand> = {
    namespace: request.namespace,
    executeAt,
    spec,
    onExisting: request.onExisting ?? "replace",
  }
  // Every create comes here, so fields are assigned one by one: object spread is much slower here.
  if (request.timerId !== undefined) command.timerId = request.timerId
  if (payload !== undefined) command.payload = payload
  if (request.correlationId !== undefined) command.correlationId = request.correlationId
  copyAdded(request, command)
  return command
}

const specOf = (request: CreateTimer, terms: CommandTerms): Spec | undefined => {
  const { namespace, callbackUrl, retryPolicy, expireAfter, onExpire, onDead } = request
  const defaults = terms.retryPolicyOf(namespace)
  const isPlain =
    callbackUrl !== undefined &&
    retryPolicy === undefined &&
    expireAfter === undefined &&
    onDead === undefined &&
    defaults === defaultRetryPolicy
  const known = isPlain ? terms.plainSpecs.get(callbackUrl) : undefined
  if (known !== undefined) return known
  const target = targetOf(request, terms.limits)
  if (target === undefined) return undefined
  const spec: Spec = {
    target,
    retryPolicy: completeRetryPolicy(retryPolicy, defaults),
    ...(expireAfter === undefined ? {} : { expireAfterMs: expireAfter }),
    ...(onExpire === "drop" ? { onExpire } : {}),
    ...(onDead === undefined ? {} : { onDead: completeOnDead(onDead, terms.limits) }),
  }
  if (isPlain) {
    if (terms.plainSpecs.size === mostPlainSpecs) terms.plainSpecs.clear()
    terms.plainSpecs.set(callbackUrl, spec)
  }
  return spec
}

export const updateCommand = (
  request: UpdateTimer,
  received: Received,
  terms: CommandTerms,
): UpdateCommand | RefusedCommand => {
  const executeAt = executeAtOf(request, received.at)
  const target = targetOf(request, terms.limits)
  const onDead = request.onDead && completeOnDead(request.onDead, terms.limits)
  const { payload } = received
  const refused =
    whyTooFar(executeAt, received, terms) ??
    whyTooLarge(payload, received, terms) ??
    whyNoTarget(target, "target", received, terms) ??
    whyNoTarget(onDead ?? undefined, "onDead", received, terms) ??
    whyEgressRefused(target, urlField(request), received, terms) ??
    whyEgressRefused(onDead ?? undefined, "onDead/url", received, terms)
  if (refused !== undefined) return refused
  return {
    namespace: request.namespace,
    timerId: request.timerId,
    ...(request.ifRevision === undefined ? {} : { ifRevision: request.ifRevision }),
    set: {
      ...(executeAt === undefined ? {} : { executeAt }),
      ...(target === undefined ? {} : { target }),
      ...(request.retryPolicy === undefined
        ? {}
        : {
            retryPolicy: completeRetryPolicy(
              request.retryPolicy ?? undefined,
              terms.retryPolicyOf(request.namespace),
            ),
          }),
      ...(request.expireAfter === undefined ? {} : { expireAfterMs: request.expireAfter }),
      ...(request.onExpire === undefined ? {} : { onExpire: request.onExpire }),
      ...(onDead === undefined ? {} : { onDead }),
      ...(request.payload === null ? { payload: null } : payload === undefined ? {} : { payload }),
      ...(request.correlationId === undefined ? {} : { correlationId: request.correlationId }),
      ...addedIn(request),
    },
  }
}

/** The order of due times begins at the epoch, so earlier instants become the epoch. */
const executeAtOf = (
  request: { readonly executeAt?: number; readonly delay?: number },
  receivedAt: number,
): number | undefined => {
  if (request.delay !== undefined) return receivedAt + request.delay
  return request.executeAt === undefined ? undefined : Math.max(0, request.executeAt)
}

const whyTooFar = (
  executeAt: number | undefined,
  received: Received,
  { limits }: CommandTerms,
): InvalidRequest | undefined =>
  executeAt !== undefined && executeAt > received.at + limits.aheadMs
    ? invalidField(
        `${received.pointer}/executeAt`,
        `must be at most ${formatDuration(limits.aheadMs)} in the future${limitHint("aheadMs")}`,
      )
    : undefined

const whyTooLarge = (
  payload: Uint8Array | undefined,
  received: Received,
  { limits }: CommandTerms,
): InvalidRequest | undefined =>
  payload !== undefined && payload.byteLength > limits.payloadBytes
    ? invalidField(
        `${received.pointer}/payload`,
        `must be at most ${limits.payloadBytes} bytes of JSON text, but has ${payload.byteLength}${limitHint("payloadBytes")}`,
      )
    : undefined

/** Why nobody can deliver to the target of this field. */
export const whyNoTarget = (
  target: Target | undefined,
  field: "target" | "onDead",
  received: Pick<Received, "pointer">,
  { targetTypes }: Pick<CommandTerms, "targetTypes">,
): InvalidRequest | undefined =>
  target !== undefined && !targetTypes.has(target.type)
    ? invalidField(
        `${received.pointer}/${field}/type`,
        `"${target.type}" cannot be delivered by this service: use one of ${[...targetTypes].join(", ")}`,
      )
    : undefined

/** Why the egress rules refuse the target of this field. A name that only a lookup can judge passes here. */
export const whyEgressRefused = (
  target: Target | undefined,
  field: ReturnType<typeof urlField> | "onDead/url",
  received: Pick<Received, "pointer">,
  { refusalOf }: Pick<CommandTerms, "refusalOf">,
): EgressRefused | undefined => {
  const detail = target === undefined ? undefined : refusalOf(target)
  if (detail === undefined) return undefined
  const pointer = `${received.pointer}/${field}`
  return new EgressRefused({ detail: `${pointer} ${detail}`, errors: [{ pointer, detail }] })
}

const urlField = ({ callbackUrl }: { readonly callbackUrl?: string }): "callbackUrl" | "target/url" =>
  callbackUrl === undefined ? "target/url" : "callbackUrl"
