// Calls of an in-process Punctual reject with this error. It has the codes of the contract.
import type { FieldError, Problem, ProblemCode, Written } from "@punctual/api/Problem"

export class PunctualError extends Error {
  override readonly name = "PunctualError"
  /** The same code as in the HTTP contract: `invalidRequest`, `timerNotFound`, `timerExists` … */
  readonly code: ProblemCode
  /** For `invalidRequest`: each wrong field, and how to fix it. */
  declare readonly errors?: ReadonlyArray<FieldError>
  /** For `revisionMismatch`. */
  declare readonly currentRevision?: number
  /** For `quotaExceeded`: the name of the quota. */
  declare readonly quota?: string
  /** For calls that may succeed later: retry after this many seconds. */
  declare readonly retryAfterSeconds?: number
  /**
   * For calls that may succeed later: `no` if nothing was or will be written, `unknown` if all or a part may have been.
   */
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
