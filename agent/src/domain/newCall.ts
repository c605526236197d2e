// A new service call: its ids, its first record, and the messages of its submission. Pure, apart from hashing.
import { createHash } from "node:crypto"
import type { CallChange } from "./CallChange.ts"
import { type CallRecord, sweepGraceMs } from "./CallRecord.ts"
import { changedContent, type MessageTerms, outboxMessage, submitContent } from "./OutboxMessage.ts"
import type { RequestSpec, ServiceCall } from "./ServiceCall.ts"

/** What a user asks for. */
export interface AskedCall {
  readonly tenantId: string
  readonly name: string
  /** Absent means now. */
  readonly dueAt?: number
  readonly request: RequestSpec
  readonly tags: ReadonlyArray<string>
}

export interface NewCallIds {
  readonly serviceCallId: string
  readonly correlationId: string
}

/** The call as Submitted, with the messages that hand it over to Orchestration. */
export const newCall = (asked: AskedCall, ids: NewCallIds, terms: MessageTerms): CallChange => {
  const { nowMs } = terms
  const { tenantId, name, dueAt = nowMs, request, tags } = asked
  const call: ServiceCall = {
    tenantId,
    ...ids,
    version: 1,
    state: "Submitted",
    name,
    tags,
    isStarred: false,
    ...shownOf(request),
    submittedAt: nowMs,
    dueAt,
    dueTimes: 0,
    scheduledAtMs: 0,
  }
  const record: CallRecord = {
    call,
    requestHash: requestHashOf(asked),
    watchdogs: 0,
    checkAt: nowMs + sweepGraceMs,
    updatedAt: nowMs,
    hasLateOutcome: false,
  }
  return {
    record,
    timeline: [{ at: nowMs, version: 1, what: "Submitted", state: "Submitted" }],
    messages: [submitContent(call), changedContent(call, nowMs)].map((content) =>
      outboxMessage(call, content, terms),
    ),
  }
}

/** The parts of a request that lists show. The query of a URL may be secret. */
export const shownOf = ({ method, url }: RequestSpec): Pick<ServiceCall, "method" | "host" | "shownUrl"> => {
  const { host, origin, pathname } = new URL(url)
  return { method, host, shownUrl: `${origin}${pathname}` }
}

/** Only a submission with the same hash is a repeat. Without a due time, the time of the submission does not count. */
export const requestHashOf = ({ name, dueAt, request, tags }: AskedCall): string => {
  const { method, url, headers = {}, body } = request
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const text = JSON.stringify([name, dueAt ?? null, method, url, sorted, body ?? null, tags])
  return createHash("sha256").update(text).digest("hex")
}

/** The id of a call that is named only by an idempotency key: the same key gives the same id, in one tenant. */
export const callIdOfKey = (tenantId: string, idempotencyKey: string): string => {
  const hash = createHash("sha256").update(`${tenantId}\0${idempotencyKey}`).digest("hex")
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join("-")
}
