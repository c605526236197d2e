// What becomes of a dead letter that someone turns to. Beside what a store knows of the key, these decisions take the
// dead letter itself, named by its arming: it may be an older life than the one that ended last.
//
// FireIds are never used again, so a dead letter that is there proves that it was neither replayed nor discarded. One
// that is gone leaves less: a replay is told by what it armed, as long as that can be seen; a discard leaves no trace.
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
    // What it armed may have been replaced since: only if there is nothing at all, it was surely not done.
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
    // Its arming ended dead, and stays counted as that: what begins is another.
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

/** Due now, under a revision above those of all lives before it. What it carries, and when it was created, stays. */
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
