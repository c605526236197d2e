// Why a write that was asked for was not done, or why nobody knows whether it was. Callers are told in the words of the
// contract (calls/problemOf.ts).
import { Schema } from "effect"
import type { QuotaUsedUp } from "../namespaces/Quotas.ts"

/** The queue is full: nothing was written, ask again after the pause. */
export class TooManyWrites extends Schema.TaggedError<TooManyWrites>()("TooManyWrites", {
  retryAfterMs: Schema.Number,
}) {}

/**
 * No owner of the key's shard could do it (this process waits, drains, or lost the shard, or the node that owns it is
 * not in reach): ask again after the pause. `message` is a clause without an end, for others to go on.
 */
export class NoOwner extends Schema.TaggedError<NoOwner>()("NoOwner", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
  /** The result is not known; absent or false: nothing was written. */
  mayBeDone: Schema.optionalKey(Schema.Boolean),
}) {}

/** The store cannot hold this timer, and never will. */
export class TimerUnstorable extends Schema.TaggedError<TimerUnstorable>()("TimerUnstorable", {
  reason: Schema.String,
}) {}

/** What is stored under the key cannot be read. It stays as it is until an operator repairs it. */
export class TimerUnreadable extends Schema.TaggedError<TimerUnreadable>()("TimerUnreadable", {
  reason: Schema.String,
}) {}

export type RefusedWrite = TooManyWrites | NoOwner | TimerUnstorable | TimerUnreadable | QuotaUsedUp
