// What a call of an in-process Punctual is rejected with: the contract's codes, whatever layer refused.
import type { FieldError, Problem, ProblemCode, Written } from "@punctual/api/Problem"

export class PunctualError extends Error {
  override readonly name = "PunctualError"
  /** As the HTTP contract has it: `invalidRequest`, `timerNotFound`, `timerExists` … */
  readonly code: ProblemCode
  /** Of `invalidRequest`: each field that is wrong, and the fix. */
  declare readonly errors?: ReadonlyArray<FieldError>
  /** Of `revisionMismatch`. */
  declare readonly currentRevision?: number
  /** Of `quotaExceeded`: which one. */
  declare readonly quota?: string
  /** Of what may succeed later. */
  declare readonly retryAfterSeconds?: number
  /** Of what may succeed later: `no` if nothing was or will be written, `unknown` if all of it or a part may have been. */
  declare readonly written?: Written

  constructor(code: ProblemCode, message: string, details: Omit<Partial<PunctualError>, keyof Error> = {}) {
    super(message)
    this.code = code
    Object.assign(this, details)
  }

  static from(problem: Problem): PunctualError {
    return new PunctualError(problem.code, problem.detail, {
      ...("errors" in problem ? { errors: problem.errors } : {}),
      ...("currentRevision" in problem ? { currentRevision: problem.currentRevision } : {}),
      ...("quota" in problem ? { quota: problem.quota } : {}),
      ...("retryAfterSeconds" in problem
        ? { retryAfterSeconds: problem.retryAfterSeconds, written: problem.written }
        : {}),
    })
  }
}
