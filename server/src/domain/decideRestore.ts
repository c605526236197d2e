// Whether something that an archive holds may be put into a store, from what the store knows of its key. Nothing that
// is there is ever overwritten: a restore that is repeated, or that comes late, adds what is missing and no more.
import type { Decision, Known } from "./Decision.ts"
import type { Restore, RestoreAnswer } from "./WriteItem.ts"

export const decideRestore = (item: Restore, known: Known): Decision<RestoreAnswer> => {
  const { archived } = item
  const { fireId } = archived.kind === "pending" ? archived.timer : archived.life
  if (known.lives?.some((life) => life.fireId === fireId)) return { answer: { result: "present" } }
  if (archived.kind === "ended") {
    const { life } = archived
    // The timer is still to fire here. The archive's end of it happened in another store.
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
  // Revisions only grow for a key, so an arming cannot follow a life that ended with a higher one.
  if (known.last !== undefined && known.last.revision >= timer.revision) {
    return { answer: { result: "differs" } }
  }
  return { answer: { result: "restored" }, pending: timer, payloadChanged: true, tally: { created: 1 } }
}
