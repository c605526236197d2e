// Writes the audit record of a call: after the call has acted, and before its caller is answered. Calls only note what
// they change. A refused call changes nothing and leaves no record. If it is unknown whether a failed call changed
// something, its record says so.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import type { Problem } from "@punctual/api/Problem"
import type { AuditTrail } from "@punctual/door/AuditTrail"
import { Cause, Effect, Exit, Result } from "effect"
import type { Call } from "./Call.ts"

/** `action`: the group and the name of the call. */
export const auditedCall =
  <Body, Answer>(
    action: string,
    call: Call<Body, Answer>,
    trail: AuditTrail["Service"],
    now: () => number,
  ): Call<Body, Answer> =>
  (asked) =>
    Effect.suspend(() => {
      const { caller, requestId } = asked
      let noted: AuditDetails | undefined
      const note = (details: AuditDetails) => {
        noted = { ...noted, ...details }
      }
      return Effect.onExit(call({ ...asked, note }), (exit) =>
        noted === undefined || isRefused(exit)
          ? Effect.void
          : trail.record({
              at: now(),
              action,
              outcome: Exit.isSuccess(exit) ? "done" : "unknown",
              caller: caller.name,
              ...(caller.keyId === undefined ? {} : { keyId: caller.keyId }),
              ...(caller.address === undefined ? {} : { address: caller.address }),
              ...(requestId === undefined ? {} : { requestId }),
              ...noted,
            }),
      )
    })

/** The call certainly changed nothing. */
const isRefused = (exit: Exit.Exit<unknown, Problem>): boolean => {
  if (Exit.isSuccess(exit)) return false
  const failure = Cause.findError(exit.cause)
  if (Result.isFailure(failure)) return false
  const problem = failure.success
  return problem.status < 500 || ("written" in problem && problem.written === "no")
}
