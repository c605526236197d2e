// What "all namespaces" means in a call that only reads: all that its caller may read. The request gets the namespaces of
// the caller's key, so that nothing below this point has to know the caller. A call that changes something never gets
// fewer namespaces than it names: it is refused.
import { isReading, type NeededAction } from "@punctual/api/CallTerms"
import { everyNamespace } from "@punctual/api/NamespaceChoices"
import type { Caller } from "@punctual/door/Caller"

interface Reading {
  readonly action: NeededAction
  readonly concernsService?: true
}

/** `body` is the decoded request. The rights of the caller are checked after this. */
export const narrowedTo = <Body>(caller: Caller, { action, concernsService }: Reading, body: Body): Body => {
  if (action === "none" || !isReading(action) || concernsService === true) return body
  return caller.may(action, undefined) ? body : withOwn(caller.rights.namespaces, body)
}

/** The whole filter of a call may be in a field of its own. */
const withOwn = <Body>(own: ReadonlyArray<string>, body: Body): Body => {
  if (typeof body !== "object" || body === null) return body
  if ("namespaces" in body) return meansAll(body.namespaces) ? { ...body, namespaces: own } : body
  return "filter" in body ? { ...body, filter: withOwn(own, body.filter) } : body
}

const meansAll = (choices: unknown): boolean =>
  Array.isArray(choices) && choices.length === 1 && choices[0] === everyNamespace
