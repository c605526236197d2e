// What a row that cannot be read means for writes of its key. Its columns (ids, times, revision) are sound, so that most
// decisions are the same as ever: a create after a life whose row is damaged, for example. A decision is refused only
// if it would answer with, or write on, something that could not be read.
import type { Decision, Known } from "./Decision.ts"
import type { InsertAnswer, Unstorable } from "./WriteItem.ts"

/** The answer in place of a decision that needs what cannot be read; nothing if the decision stands. */
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

/** What is said of a key whose row cannot be read, and why. */
export const unreadableReason = (why: string): string =>
  `What is stored under this key cannot be read: ${why}. It stays as it is, and nothing was changed. Whoever runs the service finds it with "punctual doctor", and can repair it.`

const answered = (answer: InsertAnswer) => {
  if ("timer" in answer) return answer.timer
  if ("life" in answer) return answer.life
  return "next" in answer ? answer.next : undefined
}
