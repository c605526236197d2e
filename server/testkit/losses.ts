// What was acknowledged and is nowhere to be found. An arming may be gone for many good reasons: this knows them, and
// whatever none of them explains was lost.
import { type Arming, type KeyHistory, nameOf } from "./HistoryIndex.ts"
import { type Violation, violation } from "./Violation.ts"

export const losses = (history: KeyHistory, dueUntilMs: number): ReadonlyArray<Violation> => [
  ...lost(history, dueUntilMs),
  ...confirmedInVain(history),
]

/**
 * An acknowledged arming is delivered, dead, not yet due, or ended by someone who asked for that. What is due is not
 * pending any more, whether or not anyone was told of it.
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
        violation("noLoss", `${who} is delivered by the store's account, but its target did not get it`),
      ]
    }
    if (isCancelledAsAsked(history, arming) || isReplacedAsAsked(history, arming)) return []
    if (isDisposedOfAsAsked(history, arming)) return []
    return [violation("noLoss", `${who} was neither delivered nor cancelled, and is not in the store`)]
  })

/** Whoever repeats a create and is told that it is there already, or was, may rely on that. */
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
  // What expired and was discarded then leaves none.
  return confirmed === undefined || isSeen || discards.length > 0
    ? []
    : [violation("noLoss", `${nameOf(key)}, which a create was told of, has left no trace`)]
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

/** By the next arming of its key, unless that one was told that it found the key free. */
const isReplacedAsAsked = ({ armings, unknownArmings }: KeyHistory, arming: Arming): boolean => {
  const successor = armings.find(({ revision }) => revision > arming.revision)
  if (successor === undefined) return false
  const answer = successor.madeBy?.answer
  if (answer !== undefined) return answer.result !== "created"
  return unknownArmings.some(({ answeredAt }) => answeredAt > (arming.madeBy?.sentAt ?? 0))
}

/**
 * A dead letter that was replayed is a dead letter no more, nor is one that was discarded. What a replay armed is
 * judged by itself; the tally tells of what went away otherwise.
 */
const isDisposedOfAsAsked = ({ replays, discards }: KeyHistory, { madeBy }: Arming): boolean =>
  [...replays, ...discards].some(({ answeredAt }) => answeredAt > (madeBy?.sentAt ?? 0))
