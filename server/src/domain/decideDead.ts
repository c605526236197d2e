// Decides about replays and discards of dead letters. Besides what a store knows about the key, these decisions take
// the dead letter itself, named by its arming, because it may be older than the life that ended last.
//
// FireIds are never used again, so an existing dead letter proves that it was neither replayed nor discarded. If it is
// gone, a replay shows in the timer that it armed, as long as that can be found. A discard leaves no trace.
import { type Decision, type Known, unknown } from "./Decision.ts"
import type { FinishedLife, Timer } from "./Timer.ts"
import { addedAfter } from "./timerFields.ts"
import type { Discard, DiscardAnswer, Replay, ReplayAnswer, Unknown } from "./WriteItem.ts"

export const decideReplay = (
  replay: Replay,
  { pending, last }: Known,
  dead: FinishedLife | undefined,
): Decision<ReplayAnswer | Unknown> => {
  if (pending?.fireId === replay.fireId) return { answer: { result: "replayed", timer: pending } }
  if (last?.fireId === replay.fireId) return { answer: { result: "alreadyReplayed" } }
  if (dead === undefined) {
    // Its timer may have been replaced since. Only if the key was never used, the replay was certainly not carried out.
    if (replay.isRepeat && (pending !== undefined || last !== undefined)) return unknown
    return { answer: { result: "notFound" } }
  }
  if (pending !== undefined) return { answer: { result: "skipped" } }
  const timer = armedAgain(dead, replay, Math.max(dead.revision, last?.revision ?? 0))
  return {
    answer: { result: "replayed", timer },
    pending: timer,
    payloadChanged: true,
    removesDead: dead,
    // The old arming stays counted as dead. The replay begins a new arming.
    tally: { replayed: 1 },
  }
}

export const decideDiscard = (
  discard: Discard,
  dead: FinishedLife | undefined,
): Decision<DiscardAnswer | Unknown> => {
  if (dead === undefined) return discard.isRepeat ? unknown : { answer: { result: "notFound" } }
  return {
    answer: { result: "discarded" },
    removesDead: dead,
    tally: { dead: -1, discarded: 1 },
  }
}

/** A timer that is due now, with a higher revision than all earlier lives. Content and creation time stay the same. */
const armedAgain = (dead: FinishedLife, { fireId, at }: Replay, lastRevision: number): Timer => ({
  namespace: dead.namespace,
  timerId: dead.timerId,
  uuid: dead.uuid,
  fireId,
  revision: Math.max(at, lastRevision + 1),
  executeAt: at,
  fireAt: at,
  attempts: 0,
  createdAt: dead.createdAt,
  updatedAt: at,
  correlationId: dead.correlationId,
  spec: dead.spec,
  ...addedAfter(dead, {}),
  ...(dead.payload === undefined ? {} : { payload: dead.payload }),
})
