// Why a store could not be opened. This is separate from the opening itself, because the main thread needs it without
// loading the database library.

export type OpenFailureReason =
  | "libraryTooOld"
  | "unwritable"
  | "notADatabase"
  | "damaged"
  | "otherProgram"
  | "missing"
  | "newerSchema"
  | "olderSchema"
  | "otherShardCount"
  | "inUse"
  | "failed"

export class OpenFailure extends Error {
  readonly reason: OpenFailureReason

  constructor(reason: OpenFailureReason, message: string) {
    super(message)
    this.reason = reason
  }
}
