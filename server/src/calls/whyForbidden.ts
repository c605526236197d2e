// Whether a caller may make a call: the action that the endpoint declares, in the namespaces that the request names.
import type { NeededAction } from "@punctual/api/CallTerms"
import { Forbidden, type Problem } from "@punctual/api/Problem"
import type { Caller } from "@punctual/door/Caller"
import { forbidden } from "@punctual/door/Gate"

interface Needed {
  readonly action: NeededAction
  readonly checksNamespaces?: true
  readonly concernsService?: true
}

/** `body` is the decoded request. */
export const whyForbidden = (
  { action, checksNamespaces, concernsService }: Needed,
  body: unknown,
  caller: Caller,
): Problem | undefined => {
  if (action === "none") return undefined
  if (checksNamespaces === true) {
    return caller.mayAnywhere(action)
      ? undefined
      : new Forbidden({ detail: `The key needs the action ${action}.` })
  }
  for (const namespace of concernsService === true ? wholeService : namespacesOf(body)) {
    if (!caller.may(action, namespace)) return forbidden(action, namespace)
  }
  return undefined
}

/** The names and patterns in a request. A request without namespaces concerns the whole service. */
const namespacesOf = (body: unknown): ReadonlyArray<string | undefined> => {
  if (typeof body !== "object" || body === null) return wholeService
  if ("namespace" in body && typeof body.namespace === "string") return [body.namespace]
  if ("namespaces" in body && Array.isArray(body.namespaces)) return body.namespaces
  // The whole filter of a call may be in a field of its own.
  return "filter" in body ? namespacesOf(body.filter) : wholeService
}

const wholeService = [undefined]
