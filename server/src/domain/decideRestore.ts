// Decides whether an item of an archive may be added to a store. It never overwrites anything: a repeated or late
// restore adds only what is missing.
import type { Decision, Known } from "./Decision.ts"
import type { Restore, RestoreAnswer } from "./WriteItem.ts"

export const decideRestore = (item: Restore, known: Known): Decision<RestoreAnswer> => {
  const { archived } = item
  const { fireId } = archived.kind === "pending" ? archived.timer : archived.life
  if (known.lives?.some((life) => life.fireId === fireId)) return { answer: { result: "present" } }
  if (archived.kind === "ended") {
    const { life } = archived
    // The timer is still pending here. It ended in the store of the archive.
    if (known.pending?.fireId === fireId) return { answer: { result: "differs" } }
    return {
      answer: { result: "restored" },
      finished: life,
      addsOnce: true,
      tally: { created: 1, [life.state]: 1 },
    }
  }
  const { timer } = archived
  if (known.pending !== undefined) {
    return { answer: { result: known.pending.fireId === fireId ? "present" : "differs" } }
  }
  // Revisions only grow for a key, so an arming cannot follow a life that ended with a higher revision.
  if (known.last !== undefined && known.last.revision >= timer.revision) {
    return { answer: { result: "differs" } }
  }
  return { answer: { result: "restored" }, pending: timer, payloadChanged: true, tally: { created: 1 } }
}
