// A change of a call while it is decided: the record afterwards, the lines of the timeline, and the messages to send.
// Every state that the call passes gets a version of its own, also if one transition passes two.
import type { CallRecord } from "./CallRecord.ts"
import {
  cancelContent,
  changedContent,
  type MessageContent,
  type MessageTerms,
  type OutboxMessage,
  outboxMessage,
  scheduleContent,
} from "./OutboxMessage.ts"
import type { ServiceCall, TimelineEntry } from "./ServiceCall.ts"

/** What a transition does to a call. The store applies all of it, or nothing. */
export interface CallChange {
  readonly record: CallRecord
  readonly timeline: ReadonlyArray<TimelineEntry>
  readonly messages: ReadonlyArray<OutboxMessage>
}

export class ChangeDraft {
  #record: CallRecord
  readonly #timeline: Array<TimelineEntry> = []
  readonly #messages: Array<OutboxMessage> = []
  readonly #events: Array<OutboxMessage> = []
  readonly #terms: MessageTerms

  constructor(record: CallRecord, terms: MessageTerms) {
    this.#record = record
    this.#terms = terms
  }

  get call(): ServiceCall {
    return this.#record.call
  }

  get record(): CallRecord {
    return this.#record
  }

  /** Changes the call in a way that users can see, and writes a line into its timeline. */
  note(what: string, changes: Partial<ServiceCall>, detail?: string): this {
    const { nowMs, cause } = this.#terms
    const call = { ...this.call, ...changes, version: this.call.version + 1 }
    this.#record = { ...this.#record, call, updatedAt: nowMs }
    this.#timeline.push({
      at: nowMs,
      version: call.version,
      what,
      state: call.state,
      ...cause,
      ...(detail === undefined ? {} : { detail }),
    })
    return this
  }

  /** The same, and tells others about the new state. */
  enter(what: string, changes: Partial<ServiceCall>, detail?: string): this {
    this.note(what, changes, detail)
    this.#events.push(this.#make(changedContent(this.call, this.#terms.nowMs)))
    return this
  }

  /** Changes what only Orchestration sees. */
  keep(changes: Partial<Omit<CallRecord, "call">>): this {
    this.#record = { ...this.#record, ...changes }
    return this
  }

  /** Nothing that users see changes, but the call gets a version of its own, which orders its messages. */
  nextVersion(): this {
    const call = { ...this.call, version: this.call.version + 1 }
    this.#record = { ...this.#record, call }
    return this
  }

  send(content: MessageContent): this {
    this.#messages.push(this.#make(content))
    return this
  }

  /** Each command to the Timer has a larger timestamp than the one before, because the Timer orders them by it. */
  schedule(timerId: string, dueAt: number): this {
    return this.send(scheduleContent(this.call, { id: timerId, dueAt, timestampMs: this.#nextTimestamp() }))
  }

  unschedule(timerId: string): this {
    return this.send(cancelContent(this.call, { id: timerId, timestampMs: this.#nextTimestamp() }))
  }

  /** Commands come first, because somebody waits for them. */
  get change(): CallChange {
    return {
      record: this.#record,
      timeline: this.#timeline,
      messages: [...this.#messages, ...this.#events],
    }
  }

  #nextTimestamp(): number {
    const scheduledAtMs = Math.max(this.#terms.nowMs, this.call.scheduledAtMs + 1)
    this.#record = { ...this.#record, call: { ...this.call, scheduledAtMs } }
    return scheduledAtMs
  }

  #make(content: MessageContent): OutboxMessage {
    return outboxMessage(this.call, content, this.#terms)
  }
}

/** The record without the time of its next check, because the call has ended. */
export const withoutCheck = ({ checkAt: _, ...record }: CallRecord): CallRecord => record
