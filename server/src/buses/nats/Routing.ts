// Where a message goes on the broker: one table, from its type and tenant to a subject, so that subjects can be
// split later by changing it alone. A name that is no sound tenant never becomes part of a subject: there it
// could be a wildcard, or another's address.
import { unknownTenant } from "@punctual/api/DeadLetter"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { Namespace } from "@punctual/api/Namespace"
import { scheduleTimerType } from "@punctual/api/ScheduleTimer"
import { Schema } from "effect"
import type { Topic } from "../../ports/Bus.ts"

/** The stream that holds all of it. */
export const streamName = "svc"
export const streamSubjects = "svc.>"

const deadLetterToken = "dlq"

const topics: ReadonlyMap<string, Topic> = new Map([
  [scheduleTimerType, "serviceCall"],
  [dueTimeReachedType, "serviceCall"],
])
/** Of types that others brought with them. */
const otherTopic: Topic = "serviceCall"

/** Nothing if the tenant is none. */
export const subjectOf = (type: string, tenant: string): string | undefined =>
  isTenant(tenant) ? `svc.${tenant}.${topics.get(type) ?? otherTopic}` : undefined

/** Of a tenant, or of the messages that name none; nothing if the tenant is neither. */
export const deadLetterSubject = (tenant: string): string | undefined =>
  isTenant(tenant) || tenant === unknownTenant ? `svc.${tenant}.${deadLetterToken}` : undefined

/** What a subscription reads: its topic, of every tenant. */
export const subjectsOf = (topic: Topic): string => `svc.*.${topic}`

export const allDeadLetters = `svc.*.${deadLetterToken}`

/** Whose address a subject is, as it stands there; whether that is a sound tenant, others judge. */
export const tenantOf = (subject: string): string | undefined => {
  const [root, tenant, ...rest] = subject.split(".")
  return root === "svc" && rest.length > 0 ? tenant : undefined
}

/**
 * Whether a dead letter of the tenant may go back to the subject it says it came from. Those of no tenant may
 * go anywhere below the stream's root, except to other dead letters.
 */
export const mayReturnTo = (tenant: string, subject: string): boolean => {
  const tokens = subject.split(".")
  if (tokens.length < 3 || tokens[0] !== "svc" || tokens[2] === deadLetterToken) return false
  if (!tokens.every((token) => /^[^\s*>\p{Cc}]+$/u.test(token))) return false
  return tenant === unknownTenant || (isTenant(tenant) && tokens[1] === tenant)
}

const isTenant = Schema.is(Namespace)
