// Finds timers that were acknowledged and are missing. An arming may be gone for many good reasons. This file knows
// them. An arming that none of them explains was lost.
import { type Arming, type KeyHistory, nameOf } from "./HistoryIndex.ts"
import { type Violation, violation } from "./Violation.ts"

export const losses = (history: KeyHistory, dueUntilMs: number): ReadonlyArray<Violation> => [
  ...lost(history, dueUntilMs),
  ...confirmedInVain(history),
]

/**
 * An acknowledged arming is delivered, dead, not yet due, or ended by a request. A due timer is not pending any more,
 * whether or not a client was told about it.
 */
const lost = (history: KeyHistory, dueUntilMs: number): ReadonlyArray<Violation> =>
  history.armings.flatMap((arming) => {
    const isAcknowledged = arming.madeBy !== undefined
    const who = `${nameOf(history.key)} (${arming.fireId}), ${isAcknowledged ? "acknowledged" : "unknown"},`
    if (arming.pending !== undefined) {
      if (arming.pending.fireAtMs > dueUntilMs) return []
      return [violation("noLoss", `${who} is still pending, though it was due at ${arming.pending.fireAtMs}`)]
    }
    if (!isAcknowledged || isDelivered(arming) || arming.finished?.state === "dead") return []
    if (arming.finished?.state === "delivered") {
      return [
        violation("noLoss", `${who} is delivered according to the store, but its target did not get it`),
      ]
    }
    if (isCancelledAsAsked(history, arming) || isReplacedAsAsked(history, arming)) return []
    if (isDisposedOfAsAsked(history, arming)) return []
    return [violation("noLoss", `${who} was neither delivered nor cancelled, and is not in the store`)]
  })

/** A client that repeats a create and hears that the timer exists, or has existed, may rely on that. */
const confirmedInVain = ({ key, asks, armings, discards }: KeyHistory): ReadonlyArray<Violation> => {
  const confirmed = asks.find(
    ({ request, answer }) =>
      request.op === "create" &&
      answer?.result === "nothingDone" &&
      (answer.because === "unchanged" || answer.because === "alreadyFinished"),
  )
  const isSeen = armings.some(({ attempts, pending, finished }) =>
    [...attempts, pending, finished].some((trace) => trace !== undefined),
  )
  // A timer that expired and was then discarded leaves no trace.
  return confirmed === undefined || isSeen || discards.length > 0
    ? []
    : [violation("noLoss", `${nameOf(key)} has left no trace, though a create was told that it exists`)]
}

const isDelivered = ({ attempts }: Arming): boolean =>
  attempts.some(({ reply }) => reply?.result === "delivered" || reply?.result === "rearmed")

const isCancelledAsAsked = ({ asks }: KeyHistory, { finished, madeBy }: Arming): boolean =>
  finished?.state === "cancelled" &&
  asks.some(
    (asked) =>
      asked.request.op === "cancel" &&
      asked.answeredAt > (madeBy?.sentAt ?? 0) &&
      (asked.answer === undefined ||
        asked.answer.result === "cancelled" ||
        asked.answer.result === "inFlight"),
  )

/** The next arming of the key replaced it, unless the answer to that arming said that the key was free. */
const isReplacedAsAsked = ({ armings, unknownArmings }: KeyHistory, arming: Arming): boolean => {
  const successor = armings.find(({ revision }) => revision > arming.revision)
  if (successor === undefined) return false
  const answer = successor.madeBy?.answer
  if (answer !== undefined) return answer.result !== "created"
  return unknownArmings.some(({ answeredAt }) => answeredAt > (arming.madeBy?.sentAt ?? 0))
}

/**
 * A dead letter that was replayed or discarded is not a dead letter any more. The timer that a replay armed is judged
 * by itself. The tally shows all other removals.
 */
const isDisposedOfAsAsked = ({ replays, discards }: KeyHistory, { madeBy }: Arming): boolean =>
  [...replays, ...discards].some(({ answeredAt }) => answeredAt > (madeBy?.sentAt ?? 0))
