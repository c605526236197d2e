// Decides what a write does to the stored data: pure functions, the same for all stores. `decide` takes the item and
// what a store knows about its key, and returns the answer and the effects. A store only reads and carries out the
// effects.
import { isDeepStrictEqual } from "node:util"
import type { Decision, Known } from "./Decision.ts"
import { unknown } from "./Decision.ts"
import { decideDiscard, decideReplay } from "./decideDead.ts"
import { decideRestore } from "./decideRestore.ts"
import { decideUnschedule, ignore, isCancelInAdvance } from "./decideUnschedule.ts"
import { cancelledLife, deliveredLife, endOfLife } from "./endOfLife.ts"
import type { FinishedLife, FinishedState, Spec, Timer } from "./Timer.ts"
import { addedAfter, addedIn, haveSameAdded } from "./timerFields.ts"
import type {
  Cancel,
  CancelAnswer,
  Change,
  ChangeAnswer,
  InsertAnswer,
  LateRecord,
  NamedDead,
  Outcome,
  OutcomeAnswer,
  Put,
  PutAnswer,
  RecordAnswer,
  Schedule,
  ScheduleAnswer,
  Unknown,
  WriteAnswer,
  WriteItem,
} from "./WriteItem.ts"

export const decide = (item: WriteItem, known: Known): Decision<WriteAnswer> => {
  switch (item.kind) {
    case "put":
      return decidePut(item, known)
    case "change":
      return decideChange(item, known)
    case "schedule":
      return decideSchedule(item, known)
    case "cancel":
      return decideCancel(item, known)
    case "outcome":
      return decideOutcome(item, known)
    case "record":
      return decideRecord(
        item,
        known.lives?.find(({ fireId }) => fireId === item.life.fireId),
      )
    case "replay":
      return decideReplay(item, known, deadLetter(item, known))
    case "discard":
      return decideDiscard(item, deadLetter(item, known))
    case "restore":
      return decideRestore(item, known)
  }
}

/** A dead letter keeps the revision with which its life ended. */
const deadLetter = ({ deadFireId, deadRevision }: NamedDead, { lives }: Known): FinishedLife | undefined =>
  lives?.find(
    ({ state, fireId, revision }) => state === "dead" && fireId === deadFireId && revision === deadRevision,
  )

export const decidePut = (put: Put, { pending, last }: Known): Decision<PutAnswer | Unknown> => {
  const { timer } = put
  // The same put again: its timer already exists, or has even ended and must not be armed again.
  if (pending?.fireId === timer.fireId) {
    return {
      answer: { result: pending.createdAt === timer.createdAt ? "created" : "replaced", timer: pending },
    }
  }
  if (last?.fireId === timer.fireId) return { answer: { result: "alreadyFinished", life: last } }
  // Its timer may have been replaced since. Only if the key was never used, the put was certainly not carried out.
  if (put.isRepeat && (pending !== undefined || last !== undefined)) return unknown
  // The same create again, from a client that repeats after a timeout: the timer must fire once, and not twice.
  if (last !== undefined && timer.executeAt <= timer.createdAt && last.executeAt === timer.executeAt) {
    return { answer: { result: "alreadyFinished", life: last } }
  }
  if (pending === undefined) return create(timer, last)
  if (put.onExisting === "fail") return { answer: { result: "exists", timer: pending } }
  if (put.onExisting === "keep" || asksForSame(put, pending)) {
    return { answer: { result: "unchanged", timer: pending } }
  }
  const replaced: Timer = { ...timer, revision: pending.revision + 1, createdAt: pending.createdAt }
  return {
    answer: { result: "replaced", timer: replaced },
    pending: replaced,
    payloadChanged: true,
    tally: { created: 1, replaced: 1 },
  }
}

/**
 * A put from a node that does not own the shard. It may take effect long after that node gave it up. If the key was
 * ever used, a repeat may have created that timer, and it may have been replaced and cancelled since.
 */
export const decideInsert = (put: Put, known: Known): Decision<InsertAnswer> => {
  const decision = decidePut({ ...put, onExisting: "fail" }, known)
  const isNextLife = decision.pending !== undefined && known.last !== undefined
  return isNextLife ? { answer: { result: "needsOwner" } } : decision
}

/** `last` matters only for a marked repeat. */
export const decideChange = (change: Change, { pending, last }: Known): Decision<ChangeAnswer | Unknown> => {
  if (pending?.fireId === change.fireId) return { answer: { result: "changed", timer: pending } }
  // Its timer may have been replaced or have ended since. Then there is no timer for the answer.
  if (change.isRepeat && (pending !== undefined || last !== undefined)) return unknown
  if (pending === undefined) return { answer: { result: "notFound" } }
  if (change.ifRevision !== undefined && change.ifRevision !== pending.revision) {
    return { answer: { result: "revisionMismatch", revision: pending.revision } }
  }
  if (pending.fireId === change.inFlight) return { answer: { result: "inFlight" } }
  const changed = armAnew(pending, change)
  return {
    answer: { result: "changed", timer: changed },
    pending: changed,
    payloadChanged: change.set.payload !== undefined,
    tally: { created: 1, replaced: 1 },
  }
}

export const decideSchedule = (schedule: Schedule, { pending, last }: Known): Decision<ScheduleAnswer> => {
  if (schedule.cancels) return decideUnschedule(schedule, { pending, last }, cancelledLife)
  const { timer } = schedule
  // The same item again, after its arming has ended. A fireId is never used again.
  if (last?.fireId === timer.fireId) return ignore("finished")
  // A sender without an answer may repeat for a long time, so a finished timer is not armed again.
  if (pending === undefined) {
    if (last === undefined) return create(timer, last)
    // The key has only a cancel that arrived before the timer. It does not apply to commands with a later timestamp.
    if (!isCancelInAdvance(last)) return ignore("finished")
    return timer.askedAt > last.executeAt ? create(timer, last) : ignore("outdated")
  }
  // The same item again: it already had its effect. Revisions start at the creation time and grow with a move.
  if (pending.fireId === timer.fireId) {
    return { answer: { result: pending.revision > pending.createdAt ? "moved" : "created", timer: pending } }
  }
  if (pending.fireId === schedule.inFlight) return ignore("inFlight")
  if (pending.attempts > 0) return ignore("retrying")
  // Without askedAt the due time was set by an API call at updatedAt. An earlier command must not undo it.
  if (timer.askedAt < (pending.askedAt ?? pending.updatedAt)) return ignore("outdated")
  const { executeAt, askedAt, payload } = timer
  const correlationId = schedule.madeCorrelationId ? pending.correlationId : timer.correlationId
  const { retryPolicy } = schedule.setsRetryPolicy ? timer.spec : pending.spec
  const isSameContent =
    (payload === undefined || sameBytes(payload, pending.payload)) &&
    isDeepStrictEqual(retryPolicy, pending.spec.retryPolicy) &&
    haveSameAdded(addedAfter(pending, timer), pending)
  if (executeAt === pending.executeAt && correlationId === pending.correlationId && isSameContent) {
    const confirmed: Timer = { ...pending, askedAt }
    return {
      answer: { result: "unchanged", timer: confirmed },
      // Nothing is armed, but a command with a timestamp between the two must not move the timer any more.
      ...(askedAt === pending.askedAt ? {} : { pending: confirmed }),
    }
  }
  const { fireId, createdAt: at } = timer
  const set = {
    executeAt,
    correlationId,
    ...(payload === undefined ? {} : { payload }),
    ...(schedule.setsRetryPolicy ? { retryPolicy } : {}),
    ...addedIn(timer),
  }
  const moved: Timer = { ...armAnew(pending, { fireId, at, set }), askedAt }
  return {
    answer: { result: "moved", timer: moved },
    pending: moved,
    ...(payload === undefined ? {} : { payloadChanged: true }),
    tally: { created: 1, replaced: 1 },
  }
}

export const decideCancel = (cancel: Cancel, { pending, last }: Known): Decision<CancelAnswer | Unknown> => {
  if (last?.endedBy === cancel.cancelId) {
    return { answer: { result: last.fireId === cancel.inFlight ? "inFlight" : "cancelled" } }
  }
  // The pending timer may be newer than the one that this cancel has already cancelled.
  if (cancel.isRepeat && (pending !== undefined || last !== undefined)) return unknown
  if (pending === undefined) {
    if (last === undefined) return { answer: { result: "notFound" } }
    return { answer: { result: alreadyEnded[last.state] } }
  }
  if (cancel.ifRevision !== undefined && cancel.ifRevision !== pending.revision) {
    return { answer: { result: "revisionMismatch", revision: pending.revision } }
  }
  return {
    answer: { result: pending.fireId === cancel.inFlight ? "inFlight" : "cancelled" },
    pending: null,
    finished: {
      ...cancelledLife(pending, cancel.at),
      // A cancel is a change of the key, so the revision grows.
      revision: pending.revision + 1,
      endedBy: cancel.cancelId,
    },
    tally: { cancelled: 1 },
  }
}

const alreadyEnded = {
  delivered: "alreadyDelivered",
  cancelled: "alreadyCancelled",
  dead: "alreadyDead",
} as const

export const decideOutcome = (outcome: Outcome, { pending, last }: Known): Decision<OutcomeAnswer> => {
  if (
    pending === undefined ||
    pending.fireId !== outcome.timer.fireId ||
    pending.attempts !== outcome.attempt - 1 ||
    (outcome.then.to === "postponed" && pending.revision !== outcome.timer.revision)
  ) {
    return { answer: answerIfSettledBefore(outcome, pending, last) }
  }
  const { then } = outcome
  if (then.to === "delivered") {
    const finished = deliveredLife(pending, outcome, then.latenessMs)
    return { answer: settled, pending: null, finished, tally: oneDelivered }
  }
  const ended = { ...pending, ...attemptsAfter(pending, outcome) }
  switch (then.to) {
    case "retry": {
      const next: Timer = { ...ended, fireAt: then.fireAt, updatedAt: outcome.at }
      return { answer: { result: "settled", next }, pending: next }
    }
    case "postponed": {
      const { revision } = pending
      const next: Timer = { ...pending, revision: revision + 1, fireAt: then.fireAt, updatedAt: outcome.at }
      return { answer: { result: "settled", next }, pending: next }
    }
    case "rearmed": {
      // The attempt log belongs to the arming that ends here.
      const { firstAttemptAt: _, askedAt: __, attemptLog: ___, ...kept } = pending
      const next: Timer = {
        ...kept,
        fireId: then.fireId,
        revision: pending.revision + 1,
        executeAt: then.executeAt,
        fireAt: then.executeAt,
        attempts: 0,
        updatedAt: outcome.at,
        ...(then.payload === undefined ? {} : { payload: then.payload }),
      }
      return {
        answer: { result: "settled", next },
        pending: next,
        payloadChanged: then.payload !== undefined,
        finished: deliveredLife(pending, outcome, then.latenessMs),
        tally: { delivered: 1, rearmed: 1 },
      }
    }
    case "dead":
      return {
        answer: { result: "settled" },
        pending: null,
        finished: { ...endOfLife(ended, "dead", outcome.at), reason: then.reason },
        tally: { dead: 1 },
      }
    case "dropped":
      return {
        answer: { result: "settled" },
        pending: null,
        finished: { ...cancelledLife(ended, outcome.at), reason: then.reason },
        tally: { cancelled: 1 },
      }
  }
}

/** Nearly every write gets one of these, so they are made once. */
const settled: OutcomeAnswer = { result: "settled" }
const oneDelivered = { delivered: 1 }
const oneCreated = { created: 1 }

/** `prior` is the history entry of the same key and fireId, if there is one. */
export const decideRecord = (record: LateRecord, prior: FinishedLife | undefined): Decision<RecordAnswer> => {
  const { life } = record
  const answer: RecordAnswer = { result: "recorded" }
  if (prior?.state === "dead") return { answer }
  const moved: { [state in FinishedState | "replaced"]?: number } = {}
  const from = prior?.state ?? "replaced"
  if (from !== life.state) {
    moved[from] = -1
    moved[life.state] = 1
  }
  const corrected: FinishedLife =
    prior === undefined
      ? life
      : {
          ...life,
          revision: prior.revision,
          ...(prior.endedBy === undefined ? {} : { endedBy: prior.endedBy }),
        }
  return {
    answer,
    finished: corrected,
    ...(prior === undefined ? { addsOnce: true } : { corrects: prior }),
    tally: moved,
  }
}

/** The first arming of a life, with a higher revision than all earlier lives. */
const create = (
  timer: Timer,
  last: FinishedLife | undefined,
): Decision<{ readonly result: "created"; readonly timer: Timer }> => {
  const revision = Math.max(timer.createdAt, (last?.revision ?? 0) + 1)
  const created: Timer = timer.revision === revision ? timer : { ...timer, revision }
  return {
    answer: { result: "created", timer: created },
    pending: created,
    payloadChanged: true,
    tally: oneCreated,
  }
}

/** Arms the pending timer again with a new fireId and the changed fields. The earlier arming is void. */
const armAnew = (pending: Timer, { fireId, at, set }: Pick<Change, "fireId" | "at" | "set">): Timer => {
  const executeAt = set.executeAt ?? pending.executeAt
  const payload = set.payload === undefined ? pending.payload : set.payload
  return {
    namespace: pending.namespace,
    timerId: pending.timerId,
    uuid: pending.uuid,
    fireId,
    revision: pending.revision + 1,
    executeAt,
    fireAt: executeAt,
    attempts: 0,
    createdAt: pending.createdAt,
    updatedAt: at,
    correlationId: set.correlationId ?? pending.correlationId,
    spec: specAfter(pending.spec, set),
    ...addedAfter(pending, set),
    ...(payload === null || payload === undefined ? {} : { payload }),
  }
}

/** Returns the same object if nothing of it changes, so that a store need not write it again. */
const specAfter = (spec: Spec, set: Change["set"]): Spec => {
  const { target, retryPolicy, expireAfterMs, onExpire, onDead } = set
  if (
    (target ?? retryPolicy ?? onExpire) === undefined &&
    expireAfterMs === undefined &&
    onDead === undefined
  )
    return spec
  const expires = expireAfterMs === undefined ? spec.expireAfterMs : expireAfterMs
  const told = onDead === undefined ? spec.onDead : onDead
  const drops = typeof expires === "number" && (onExpire ?? spec.onExpire) === "drop"
  return {
    target: target ?? spec.target,
    retryPolicy: retryPolicy ?? spec.retryPolicy,
    ...(expires === null || expires === undefined ? {} : { expireAfterMs: expires }),
    ...(drops ? { onExpire: "drop" } : {}),
    ...(told === null || told === undefined ? {} : { onDead: told }),
    ...(spec.death === undefined ? {} : { death: spec.death }),
  }
}

const attemptsAfter = (timer: Timer, { attempt, attemptLog }: Outcome): Partial<Timer> => {
  const made = attemptLog?.at(-1)
  return attemptLog === undefined || made === undefined
    ? {}
    : { attempts: attempt, attemptLog, firstAttemptAt: timer.firstAttemptAt ?? made.at }
}

const answerIfSettledBefore = (
  outcome: Outcome,
  pending: Timer | undefined,
  last: FinishedLife | undefined,
): OutcomeAnswer => {
  const { then } = outcome
  const isDone =
    then.to === "retry" || then.to === "postponed"
      ? pending?.fireId === outcome.timer.fireId &&
        pending.fireAt === then.fireAt &&
        (then.to === "retry"
          ? pending.attempts === outcome.attempt
          : pending.revision === outcome.timer.revision + 1)
      : then.to === "rearmed"
        ? pending?.fireId === then.fireId
        : last?.fireId === outcome.timer.fireId && last.state === stateAfter[then.to]
  if (!isDone) return { result: "stale" }
  return pending === undefined || then.to in stateAfter
    ? { result: "settled" }
    : { result: "settled", next: pending }
}

/** How a life ends by an outcome after which nothing is pending. */
const stateAfter = { delivered: "delivered", dead: "dead", dropped: "cancelled" } as const

/** Whether a create equals the pending timer. Then it arms nothing. */
const asksForSame = (put: Put, pending: Timer): boolean =>
  put.timer.executeAt === pending.executeAt &&
  (put.madeCorrelationId || put.timer.correlationId === pending.correlationId) &&
  haveSameAdded(put.timer, pending) &&
  sameBytes(put.timer.payload, pending.payload) &&
  sameSpec(put.timer.spec, pending.spec)

const sameSpec = (a: Spec, b: Spec): boolean => a === b || isDeepStrictEqual(a, b)

const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean => {
  if (a === undefined || b === undefined) return a === b
  if (a.byteLength !== b.byteLength) return false
  for (let i = 0; i < a.byteLength; i++) if (a[i] !== b[i]) return false
  return true
}
