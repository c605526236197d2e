// The lives of timers that end: what the history and the dead letters keep of a timer.
import type { FinishedLife, FinishedState, Mutable, Timer } from "./Timer.ts"
import { copyAdded } from "./timerFields.ts"
import type { Outcome } from "./WriteItem.ts"

/** The finished life of a timer that ends now. */
export const endOfLife = (timer: Timer, state: FinishedState, finishedAt: number): FinishedLife => {
  const life = bareLife(timer, state, finishedAt)
  if (timer.payload !== undefined) life.payload = timer.payload
  return life
}

export const withoutPayload = (life: FinishedLife): FinishedLife => {
  const { payload: _, ...rest } = life
  return rest
}

export const cancelledLife = (timer: Timer, finishedAt: number): FinishedLife =>
  withoutPayload(endOfLife(timer, "cancelled", finishedAt))

export const deliveredLife = (
  timer: Timer,
  { attempt, at, attemptLog }: Pick<Outcome, "attempt" | "at" | "attemptLog">,
  latenessMs: number,
): FinishedLife => {
  const life = bareLife(timer, "delivered", at)
  life.latenessMs = latenessMs
  if (attemptLog !== undefined && attemptLog.length > 0) {
    life.attempts = attempt
    life.attemptLog = attemptLog
  }
  return life
}

/** Every delivery calls this, so fields are assigned one by one: object spread is much slower here. */
const bareLife = (timer: Timer, state: FinishedState, finishedAt: number): Mutable<FinishedLife> => {
  const life: Mutable<FinishedLife> = {
    namespace: timer.namespace,
    timerId: timer.timerId,
    uuid: timer.uuid,
    state,
    fireId: timer.fireId,
    revision: timer.revision,
    executeAt: timer.executeAt,
    attempts: timer.attempts,
    createdAt: timer.createdAt,
    finishedAt,
    correlationId: timer.correlationId,
    spec: timer.spec,
  }
  if (timer.attemptLog !== undefined) life.attemptLog = timer.attemptLog
  copyAdded(timer, life)
  return life
}
