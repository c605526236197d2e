// Sample timers and items for suites and tests. They are complete and valid. A counter makes their ids distinct,
// instead of randomness, so that a failing test reads the same each time.
import { withAttempt } from "../src/domain/AttemptLog.ts"
import { endOfLife } from "../src/domain/endOfLife.ts"
import type { FinishedLife, Spec, Timer, TimerKey } from "../src/domain/Timer.ts"
import { keyOf } from "../src/domain/TimerKey.ts"
import {
  type AddedTerms,
  addedFields,
  finishedFields,
  pendingFields,
  type TimerField,
} from "../src/domain/timerFields.ts"
import type {
  Cancel,
  Change,
  Discard,
  NamedDead,
  OnExisting,
  Outcome,
  Put,
  Replay,
  Schedule,
  Then,
} from "../src/domain/WriteItem.ts"

/** When samples are created. */
export const sampleNow = 1_750_000_000_000

export const sampleSpec: Spec = {
  target: {
    type: "webhook",
    url: "https://example.test/hook",
    method: "POST",
    timeoutMs: 15_000,
    body: "envelope",
  },
  retryPolicy: {
    maxAttempts: 10,
    initialIntervalMs: 5_000,
    backoffMultiplier: 4,
    maxIntervalMs: 28_800_000,
    jitter: 0.2,
  },
}

let ids = 0

/** Has the form of a UUID v7, and is unique within the process. */
export const sampleId = (): string => {
  const number = (++ids).toString(16).padStart(12, "0")
  return `01976f5e-7c00-7000-8000-${number}`
}

export interface SampleTimer extends Partial<Omit<Timer, keyof TimerKey>> {
  readonly namespace?: string
  readonly timerId?: string
}

/** Due in an hour by default. `executeAt` and `fireAt` follow each other. */
export const sampleTimer = (given: SampleTimer = {}): Timer => {
  const { namespace = "shop", timerId = sampleId(), ...rest } = given
  const executeAt = given.executeAt ?? given.fireAt ?? sampleNow + 3_600_000
  return {
    ...keyOf(namespace, timerId),
    fireId: sampleId(),
    revision: given.createdAt ?? sampleNow,
    executeAt,
    fireAt: executeAt,
    attempts: 0,
    createdAt: sampleNow,
    updatedAt: sampleNow,
    correlationId: "c-1",
    spec: sampleSpec,
    ...rest,
  }
}

export const samplePut = (given: SampleTimer = {}, onExisting: OnExisting = "replace"): Put =>
  putOf(sampleTimer(given), onExisting)

export const putOf = (timer: Timer, onExisting: OnExisting = "replace"): Put => ({
  kind: "put",
  timer,
  onExisting,
  madeCorrelationId: false,
})

/** Asked for at the time of receipt by default. */
export const scheduleOf = (timer: Timer, rest: Partial<Omit<Schedule, "timer">> = {}): Schedule => ({
  kind: "schedule",
  timer: { ...timer, askedAt: timer.askedAt ?? timer.createdAt },
  madeCorrelationId: false,
  ...rest,
})

export const changeOf = (key: TimerKey, set: Change["set"], rest: Partial<Change> = {}): Change => ({
  kind: "change",
  key: onlyKey(key),
  fireId: sampleId(),
  at: sampleNow + 10,
  set,
  ...rest,
})

export const cancelOf = (key: TimerKey, rest: Partial<Cancel> = {}): Cancel => ({
  kind: "cancel",
  key: onlyKey(key),
  cancelId: sampleId(),
  at: sampleNow + 20,
  ...rest,
})

/** The outcome of the timer's next attempt. */
export const outcomeOf = (timer: Timer, then: Then, rest: Partial<Outcome> = {}): Outcome => ({
  kind: "outcome",
  timer,
  attempt: timer.attempts + 1,
  at: timer.fireAt + 30,
  attemptLog: withAttempt(timer.attemptLog, { at: timer.fireAt + 5, durationMs: 25, status: 200 }),
  then,
  ...rest,
})

/** The outcome of a timer that is not sent yet. */
export const postponementOf = (timer: Timer, fireAt: number): Outcome => {
  const { attemptLog: _, ...outcome } = outcomeOf(timer, { to: "postponed", fireAt })
  return outcome
}

/** The dead letter of a timer, or of a life that ended dead. */
export const namedDead = (dead: Timer | FinishedLife): NamedDead => ({
  key: onlyKey(dead),
  deadFireId: dead.fireId,
  deadRevision: dead.revision,
})

export const replayOf = (dead: Timer | FinishedLife, rest: Partial<Replay> = {}): Replay => ({
  kind: "replay",
  ...namedDead(dead),
  fireId: sampleId(),
  at: sampleNow + 7_200_000,
  ...rest,
})

export const discardOf = (dead: Timer | FinishedLife, rest: Partial<Discard> = {}): Discard => ({
  kind: "discard",
  ...namedDead(dead),
  at: sampleNow + 7_200_000,
  ...rest,
})

export const delivered: Then = { to: "delivered", latenessMs: 5 }

export const onlyKey = ({ namespace, timerId, uuid }: TimerKey): TimerKey => ({ namespace, timerId, uuid })

/** A value of this kind that no other field has. */
const fieldValue = ({ kind }: TimerField, index: number): unknown => {
  switch (kind) {
    case "state":
      return "dead"
    case "fireId":
      return sampleId()
    case "text":
      return `text ${index} "☂"`
    case "texts":
      return [`text ${index}`, "☂, %", '"']
    case "log":
      return [{ at: sampleNow, durationMs: index, status: 500, error: "no" }]
    case "count":
      return 1 + index
    default:
      return sampleNow + index
  }
}

const allFields = (fields: ReadonlyArray<TimerField>): object =>
  Object.fromEntries(fields.map((field, index) => [field.name, fieldValue(field, index)]))

/** A timer that has every field of the table, optional ones too, and a payload. */
export const fullTimer = (timerId: string): Timer => ({
  ...sampleTimer({ timerId, payload: new Uint8Array([0x7b, 0x7d]) }),
  ...allFields(pendingFields),
})

/** A dead letter that has every field of the table, optional ones too, and a payload. */
export const fullLife = (timerId: string): FinishedLife => ({
  ...endOfLife(fullTimer(timerId), "dead", sampleNow),
  ...allFields(finishedFields),
})

/** All added fields of the table. A timer gets them only from a request for them, or from the end of a life. */
export const allAdded = (): AddedTerms => allFields(addedFields) as AddedTerms
