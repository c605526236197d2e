// A call as a row, the same for every SQL database: the record as JSON, and columns for what queries filter and sort by.
// Bodies of answers are in a table of their own, because lists do not need them. This module does not use Effect,
// because the thread that owns a SQLite file loads it.
import type { CallChange } from "../domain/CallChange.ts"
import type { CallRecord } from "../domain/CallRecord.ts"
import type { OutboxMessage } from "../domain/OutboxMessage.ts"
import type { ResponseMeta, ServiceCall, TimelineEntry } from "../domain/ServiceCall.ts"

/** The columns of a call, in the order of the tables. */
export interface CallRow {
  readonly tenant_id: string
  readonly service_call_id: string
  readonly version: number
  readonly state: string
  readonly submitted_at: number
  readonly due_at: number
  readonly updated_at: number
  readonly finished_at: number | null
  readonly check_at: number | null
  readonly method: string
  readonly host: string
  readonly name_folded: string
  readonly is_starred: number
  readonly tags: string
  readonly attempt_id: string | null
  readonly record: string
}

export const callColumns = [
  "tenant_id",
  "service_call_id",
  "version",
  "state",
  "submitted_at",
  "due_at",
  "updated_at",
  "finished_at",
  "check_at",
  "method",
  "host",
  "name_folded",
  "is_starred",
  "tags",
  "attempt_id",
  "record",
] as const satisfies ReadonlyArray<keyof CallRow>

/** Names are compared in this form, so that the case of letters does not matter in any language. */
export const folded = (name: string): string => name.toLowerCase()

export const callRowOf = (record: CallRecord): CallRow => {
  const { call } = record
  return {
    tenant_id: call.tenantId,
    service_call_id: call.serviceCallId,
    version: call.version,
    state: call.state,
    submitted_at: call.submittedAt,
    due_at: call.dueAt,
    updated_at: record.updatedAt,
    finished_at: call.finishedAt ?? null,
    check_at: record.checkAt ?? null,
    method: call.method,
    host: call.host,
    name_folded: folded(call.name),
    is_starred: call.isStarred ? 1 : 0,
    tags: JSON.stringify(call.tags),
    attempt_id: call.attemptId ?? null,
    record: JSON.stringify({ ...record, call: withBody(call, "") }),
  }
}

export const recordOf = (json: string): CallRecord => JSON.parse(json)

/** The body of the answer that the call has got. `undefined` if it has none, or if the record was read without it. */
export const answerBodyOf = ({ call }: CallRecord): string | undefined => {
  const body = (call.response ?? call.error?.response)?.bodySnippet
  return body === "" ? undefined : body
}

export const recordWithBody = (record: CallRecord, body: string): CallRecord => ({
  ...record,
  call: withBody(record.call, body),
})

const withBody = (call: ServiceCall, bodySnippet: string): ServiceCall => {
  const put = (response: ResponseMeta): ResponseMeta => ({ ...response, bodySnippet })
  return {
    ...call,
    ...(call.response === undefined ? {} : { response: put(call.response) }),
    ...(call.error?.response === undefined
      ? {}
      : { error: { ...call.error, response: put(call.error.response) } }),
  }
}

export interface TimelineRow {
  readonly version: number
  readonly entry: string
}

export const timelineRowsOf = ({ timeline }: CallChange): ReadonlyArray<TimelineRow> =>
  timeline.map((entry) => ({ version: entry.version, entry: JSON.stringify(entry) }))

export const entryOf = (json: string): TimelineEntry => JSON.parse(json)

/** Messages of a call are ordered by the version that caused them, those of its attempt by its steps. */
export const lanes = { call: 0, attempt: 1 } as const

/** More than the messages of any change. */
const positionsPerVersion = 100

export interface MessageRow {
  readonly lane: number
  readonly position: number
  readonly message: string
  readonly ready_at: number
}

export const messageRowsOf = ({ record, messages }: CallChange): ReadonlyArray<MessageRow> =>
  messages.map((message, index) => ({
    lane: lanes.call,
    position: record.call.version * positionsPerVersion + index,
    message: JSON.stringify(message),
    ready_at: record.updatedAt,
  }))

export const attemptMessageRow = (step: "started" | "ended", message: OutboxMessage): MessageRow => ({
  lane: lanes.attempt,
  position: step === "started" ? 1 : 2,
  message: JSON.stringify(message),
  ready_at: message.timestampMs,
})

export const storedMessageOf = (json: string): OutboxMessage => JSON.parse(json)
