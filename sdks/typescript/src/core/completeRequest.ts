/**
 * Completes requests before they are sent: the namespace of the client, instants as text, delays as instants. It refuses
 * requests that select nothing or everything by mistake, such as an empty id from an unset variable.
 */
import type {
  CreateTimer,
  InstantInput,
  NamespaceScope,
  TimerFilter,
  UpdateTimer,
} from "../contract/requests.ts"
import { refusedHere } from "../errors.ts"
import type { Caller } from "./Caller.ts"
import { durationMsOf, instantText } from "./durations.ts"
import { newTimerId } from "./newTimerId.ts"
import type { DelayFrom } from "./options.ts"
import type { Fields } from "./repeats.ts"

const instantFields = ["executeAt", "from", "until"] as const

/** The request with every instant as text. */
export const withInstants = (request: object): Fields => {
  const fields: Record<string, unknown> = { ...request }
  for (const name of instantFields) {
    const instant = fields[name]
    if (instant !== undefined) fields[name] = instantText(name, instant as InstantInput)
  }
  return fields
}

/** The request with the namespace of the client, unless it names one. */
export const inNamespace = (caller: Caller, request: { readonly namespace?: string | undefined }): Fields => {
  const namespace = request.namespace ?? caller.namespace
  if (namespace === undefined) {
    throw refusedHere("namespace", "is missing: give it in the request, or once for the client")
  }
  if (namespace === "") throw refusedHere("namespace", "must not be empty")
  return { ...withInstants(request), namespace }
}

/** The request with the namespace of the client, unless it names one or several. */
export const inScope = (caller: Caller, request: NamespaceScope): Fields => {
  if (request.namespaces === undefined) return inNamespace(caller, request)
  if (request.namespaces.length === 0) throw refusedHere("namespaces", "must not be empty")
  return withInstants(request)
}

/** The request about one timer. */
export const ofTimer = (
  caller: Caller,
  request: { readonly namespace?: string | undefined; readonly timerId?: string | undefined },
): Fields => {
  if (request.timerId === undefined || request.timerId === "") {
    throw refusedHere("timerId", "must not be empty")
  }
  return inNamespace(caller, request)
}

interface Selection {
  readonly namespace?: string | undefined
  readonly timerId?: string | undefined
  readonly filter?: TimerFilter | undefined
  readonly all?: true | undefined
}

/** The request about many timers. It must say which ones. */
export const ofSelection = (
  caller: Caller,
  request: Selection,
  ...choices: ReadonlyArray<keyof Selection>
): Fields => {
  const given = choices.filter((name) => request[name] !== undefined)
  if (given.length !== 1) throw refusedHere("request", `must have exactly one of ${choices.join(", ")}`)
  if (request.timerId === "") throw refusedHere("timerId", "must not be empty")
  const { filter } = request
  if (filter === undefined) return inNamespace(caller, request)
  if (Object.values(filter).every((value) => value === undefined || value === "")) {
    throw refusedHere("filter", "must have at least one field: for all timers give all: true instead")
  }
  return inNamespace(caller, { ...request, filter: withInstants(filter) } as Selection)
}

/** A delay as an instant, so that a repeat does not move the timer. */
const withoutDelay = (
  caller: Caller,
  request: Pick<UpdateTimer, "delay" | "executeAt">,
  delayFrom: DelayFrom,
): object => {
  const { delay, ...rest } = request
  if (delay === undefined || delayFrom === "server" || rest.executeAt !== undefined) return request
  const executeAtMs = caller.nowMs() + durationMsOf("delay", delay)
  return { ...rest, executeAt: new Date(executeAtMs).toISOString() }
}

/** A create with an id, so that it can be repeated. */
export const completeCreate = async (
  caller: Caller,
  request: CreateTimer,
  delayFrom: DelayFrom = caller.delayFrom,
): Promise<Fields> => {
  if (request.timerId === "") throw refusedHere("timerId", "must not be empty: leave it out to get a new one")
  const timerId = request.timerId ?? (await newTimerId(caller.nowMs()))
  return { ...inNamespace(caller, withoutDelay(caller, request, delayFrom)), timerId }
}

/** A change of a timer. */
export const completeUpdate = (
  caller: Caller,
  request: UpdateTimer,
  delayFrom: DelayFrom = caller.delayFrom,
): Fields => ofTimer(caller, { ...withoutDelay(caller, request, delayFrom), timerId: request.timerId })
