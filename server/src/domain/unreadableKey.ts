// What an unreadable row means for writes of its key. Its columns (ids, times, revision) can be read, so most decisions
// are the same as always, for example a create after a life whose row is damaged. A decision is refused only if it
// would answer with unreadable data or write it again.
import type { Decision, Known } from "./Decision.ts"
import type { InsertAnswer, Unstorable } from "./WriteItem.ts"

/** The refusal of a decision that needs unreadable data; `undefined` if the decision does not need it. */
export const refusedAsUnreadable = (
  decision: Decision<InsertAnswer>,
  { pending }: Known,
): Unstorable | undefined => {
  const changesPending = decision.pending !== undefined
  const why =
    (changesPending ? (pending?.spec.unreadable ?? decision.pending?.spec.unreadable) : undefined) ??
    answered(decision.answer)?.spec.unreadable
  return why === undefined
    ? undefined
    : { result: "unstorable", reason: unreadableReason(why), isUnreadable: true }
}

/** The error text for a key whose row cannot be read. */
export const unreadableReason = (why: string): string =>
  `The stored data of this timer cannot be read: ${why}. Nothing was changed. The operator of the service can find it with "punctual doctor" and repair it.`

const answered = (answer: InsertAnswer) => {
  if ("timer" in answer) return answer.timer
  if ("life" in answer) return answer.life
  return "next" in answer ? answer.next : undefined
}
