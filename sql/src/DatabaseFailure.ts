// Why a database could not be opened, as one sentence that names the place and says what to do.

export type DatabaseFailureReason =
  | "invalidUrl"
  | "unreachable"
  | "refused"
  | "serverTooOld"
  | "notDurable"
  | "standby"
  | "otherEncoding"
  | "otherProgram"
  | "missing"
  | "newerSchema"
  | "olderSchema"
  | "otherShardCount"
  | "failed"

export class DatabaseFailure extends Error {
  readonly reason: DatabaseFailureReason

  constructor(reason: DatabaseFailureReason, message: string) {
    super(message)
    this.reason = reason
  }
}
