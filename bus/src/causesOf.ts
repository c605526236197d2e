// An error of a client often wraps the error that says what happened.

const causesMost = 10

/** The error and its causes, the outermost first. Of several errors that happened together, only the first one counts. */
export const causesOf = (error: unknown): ReadonlyArray<Error> => {
  const causes: Array<Error> = []
  let cause = error
  while (cause instanceof Error && causes.length < causesMost) {
    causes.push(cause)
    cause = cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors[0] : cause.cause
  }
  return causes
}
