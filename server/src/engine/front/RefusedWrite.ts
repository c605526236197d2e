// Why a write was not carried out, or why it is unknown whether it was. calls/problemOf.ts translates these errors to
// problems of the contract.
import { Schema } from "effect"
import type { QuotaUsedUp } from "../namespaces/Quotas.ts"

/** The queue is full. Nothing was written: retry after the given time. */
export class TooManyWrites extends Schema.TaggedError<TooManyWrites>()("TooManyWrites", {
  retryAfterMs: Schema.Number,
}) {}

/**
 * No owner of the key's shard could carry out the write: this process waits, drains or lost the shard, or the owner is
 * unreachable. Retry after the given time. `message` is a clause without a full stop, so that callers can continue it.
 */
export class NoOwner extends Schema.TaggedError<NoOwner>()("NoOwner", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
  /** True if it is unknown whether the write was stored. Absent or false: nothing was written. */
  mayBeDone: Schema.optionalKey(Schema.Boolean),
}) {}

/** The store can never store this timer. */
export class TimerUnstorable extends Schema.TaggedError<TimerUnstorable>()("TimerUnstorable", {
  reason: Schema.String,
}) {}

/** The stored data of the key cannot be read. It stays as it is until an operator repairs it. */
export class TimerUnreadable extends Schema.TaggedError<TimerUnreadable>()("TimerUnreadable", {
  reason: Schema.String,
}) {}

export type RefusedWrite = TooManyWrites | NoOwner | TimerUnstorable | TimerUnreadable | QuotaUsedUp
