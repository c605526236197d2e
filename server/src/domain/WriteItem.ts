// The items of a shard's write queue, and their answers. Each item has its own instant (`at`) and its own ids, which
// are made once by the node that first got the request. So a repeated item is the same item, and it is harmless if no
// other item has written its key since. If another item may have, the repeat is marked (`isRepeat`). A marked
// repeat is carried out only if it certainly was not carried out before; otherwise its answer is `unknown`.
import { type AttemptLog, attemptLogBytes } from "./AttemptLog.ts"
import type { FinishedLife, OnDead, Spec, Target, Timer, TimerKey } from "./Timer.ts"
import type { AddedChanges } from "./timerFields.ts"

export type OnExisting = "replace" | "keep" | "fail"

/** A create. `timer` is stored if the key is free. Its `createdAt` is the time of receipt. */
export interface Put {
  readonly kind: "put"
  readonly timer: Timer
  readonly onExisting: OnExisting
  /** The service made the correlation id, so it does not count in a comparison with the pending timer. */
  readonly madeCorrelationId: boolean
  /** The item may have been done already, and other items may have written its key since. */
  readonly isRepeat?: true
}

/** An update: an absent field stays, `null` clears it. It arms the timer again with the new `fireId`. */
export interface Change {
  readonly kind: "change"
  readonly key: TimerKey
  readonly fireId: string
  readonly at: number
  readonly ifRevision?: number
  /** The arming whose attempt is running when the item is queued, if any. */
  readonly inFlight?: string
  /** The item may have been done already, and other items may have written its key since. */
  readonly isRepeat?: true
  readonly set: AddedChanges & {
    readonly executeAt?: number
    readonly target?: Spec["target"]
    readonly retryPolicy?: Spec["retryPolicy"]
    readonly expireAfterMs?: number | null
    readonly onExpire?: "dead" | "drop"
    readonly onDead?: OnDead | null
    readonly payload?: Uint8Array | null
    readonly correlationId?: string
  }
}

/** A ScheduleTimer of the bus: it creates the timer, or moves it if no attempt has started. */
export interface Schedule {
  readonly kind: "schedule"
  /** Stored if the key has neither a pending nor a finished life. Its `createdAt` is the time of receipt. */
  readonly timer: Timer & { readonly askedAt: number }
  /** The service made the correlation id, so a move keeps the existing one. */
  readonly madeCorrelationId: boolean
  /** The arming whose attempt is running when the item is queued, if any. */
  readonly inFlight?: string
  /** The command has a retry policy, so a move sets it. Without this flag an existing timer keeps its own. */
  readonly setsRetryPolicy?: true
  /**
   * The command is a CancelTimer, ordered by the same timestamps. If the key has never been used, the history keeps a
   * cancelled life made of `timer`: its `fireId` names this command, and its `executeAt` is the `askedAt` of the
   * command.
   */
  readonly cancels?: true
}

/** A cancel. `cancelId` distinguishes a repeat from a second cancel. */
export interface Cancel {
  readonly kind: "cancel"
  readonly key: TimerKey
  readonly cancelId: string
  readonly at: number
  readonly ifRevision?: number
  /** The arming whose attempt is running when the item is queued, if any. */
  readonly inFlight?: string
  /** The item may have been done already, and other items may have written its key since. */
  readonly isRepeat?: true
}

export type Then =
  | { readonly to: "delivered"; readonly latenessMs: number }
  | { readonly to: "retry"; readonly fireAt: number }
  /** No attempt was made. The arming fires later, with its attempts unchanged and the next revision. */
  | { readonly to: "postponed"; readonly fireAt: number }
  | {
      readonly to: "rearmed"
      readonly executeAt: number
      readonly fireId: string
      readonly latenessMs: number
      /** If absent, the payload stays. */
      readonly payload?: Uint8Array
    }
  | { readonly to: "dead"; readonly reason: string }
  /** The life ends as cancelled, without a dead letter. */
  | { readonly to: "dropped"; readonly reason: string }

/**
 * The outcome of attempt number `attempt` of the timer's arming. It applies only if the stored row still has the
 * timer's fireId and `attempt - 1` attempts.
 */
export interface Outcome {
  readonly kind: "outcome"
  /** The timer as the engine had it at the attempt. If the stored row still matches, the store need not read more. */
  readonly timer: Timer
  readonly attempt: number
  readonly at: number
  /**
   * The new attempt log of the arming, with this attempt last. It is exact, because the outcome applies only if the row
   * equals the timer in memory. It is absent if no attempt was started (expired, postponed, not needed).
   */
  readonly attemptLog?: AttemptLog
  readonly then: Then
}

/**
 * The outcome of an attempt whose arming was cancelled or replaced while it ran. It changes no pending timer: it
 * corrects or adds the history entry of `life.fireId`.
 */
export interface LateRecord {
  readonly kind: "record"
  readonly life: FinishedLife
}

/** Names a dead letter: its arming, and its last revision, by which stores look it up. */
export interface NamedDead {
  readonly key: TimerKey
  readonly deadFireId: string
  readonly deadRevision: number
}

/** Arms the timer of a dead letter again with the new `fireId`, due now. This removes the dead letter. */
export interface Replay extends NamedDead {
  readonly kind: "replay"
  readonly fireId: string
  readonly at: number
  /** The item may have been done already, and other items may have written its key since. */
  readonly isRepeat?: true
}

/** Removes a dead letter. */
export interface Discard extends NamedDead {
  readonly kind: "discard"
  readonly at: number
  /** The item may have been done already, and other items may have written its key since. */
  readonly isRepeat?: true
}

export type ArchivedItem =
  | { readonly kind: "pending"; readonly timer: Timer }
  | { readonly kind: "ended"; readonly life: FinishedLife }

/** Adds an item of an archive unchanged. It overwrites nothing. */
export interface Restore {
  readonly kind: "restore"
  readonly archived: ArchivedItem
}

export type WriteItem = Put | Change | Schedule | Cancel | Outcome | LateRecord | Replay | Discard | Restore

export type PutAnswer =
  | { readonly result: "created" | "replaced" | "unchanged" | "exists"; readonly timer: Timer }
  | { readonly result: "alreadyFinished"; readonly life: FinishedLife }
export type ChangeAnswer =
  | { readonly result: "changed"; readonly timer: Timer }
  | { readonly result: "revisionMismatch"; readonly revision: number }
  | { readonly result: "inFlight" | "notFound" }
/** `because` says why the command was ignored. */
export type ScheduleAnswer =
  | { readonly result: "created" | "moved" | "unchanged"; readonly timer: Timer }
  /** The answer to a CancelTimer: the timer will not fire. */
  | { readonly result: "cancelled" }
  | {
      readonly result: "ignored"
      readonly because: "outdated" | "inFlight" | "retrying" | "finished"
    }
export type CancelAnswer =
  | {
      readonly result:
        | "cancelled"
        | "inFlight"
        | "alreadyDelivered"
        | "alreadyCancelled"
        | "alreadyDead"
        | "notFound"
    }
  | { readonly result: "revisionMismatch"; readonly revision: number }
/** `next` is the pending timer of the key after the outcome, if there is one. */
export type OutcomeAnswer =
  | { readonly result: "settled"; readonly next?: Timer }
  | { readonly result: "stale" }
export type RecordAnswer = { readonly result: "recorded" }
/**
 * `alreadyReplayed`: the replay was already carried out, and its timer has ended since. `skipped`: the key is pending.
 * `notFound`: there is no such dead letter.
 */
export type ReplayAnswer =
  | { readonly result: "replayed"; readonly timer: Timer }
  | { readonly result: "alreadyReplayed" | "skipped" | "notFound" }
export type DiscardAnswer = { readonly result: "discarded" | "notFound" }

/** `present`: the store already has this arming. `differs`: the key has other lives, which stay as they are. */
export type RestoreAnswer = { readonly result: "restored" | "present" | "differs" }

/** The item cannot be stored. Other items of the batch are not affected. */
export interface Unstorable {
  readonly result: "unstorable"
  readonly reason: string
  /** The reason is not the item but the stored row of its key, which cannot be read. */
  readonly isUnreadable?: true
}

/** Only for a marked repeat: it is unknown whether it was carried out before, and nothing was done now. */
export type Unknown = { readonly result: "unknown" }

export type WriteAnswer =
  | PutAnswer
  | ChangeAnswer
  | ScheduleAnswer
  | CancelAnswer
  | OutcomeAnswer
  | RecordAnswer
  | ReplayAnswer
  | DiscardAnswer
  | RestoreAnswer
  | Unstorable
  | Unknown

/** `needsOwner`: the key has had lives, or the store accepts inserts only from an owner. Nothing was done. */
export type InsertAnswer = WriteAnswer | { readonly result: "needsOwner" }

export const keyOfItem = (item: WriteItem): TimerKey => {
  switch (item.kind) {
    case "put":
    case "schedule":
    case "outcome":
      return item.timer
    case "record":
      return item.life
    case "restore":
      return keyOfArchived(item.archived)
    default:
      return item.key
  }
}

export const keyOfArchived = (item: ArchivedItem): Timer | FinishedLife =>
  item.kind === "pending" ? item.timer : item.life

/** Names a finished life. Its revision is `minRevision`, or a higher one from its cancel. */
export interface NamedLife {
  readonly fireId: string
  readonly minRevision: number
}

/** The finished lives, besides the last one, that a decision about the item needs. */
export const livesNamedBy = (item: WriteItem): ReadonlyArray<NamedLife> => {
  switch (item.kind) {
    case "record":
      return [{ fireId: item.life.fireId, minRevision: item.life.revision }]
    case "replay":
    case "discard":
      return [{ fireId: item.deadFireId, minRevision: item.deadRevision }]
    case "restore": {
      const { fireId, revision } = keyOfArchived(item.archived)
      return [{ fireId, minRevision: revision }]
    }
    default:
      return []
  }
}

/** The size of an item in a batch: payload, URL, headers, tags, attempt log, and a flat size for the rest. */
export const itemBytes = (item: WriteItem): number =>
  500 +
  (payloadOf(item)?.byteLength ?? 0) +
  targetBytes(item.kind === "change" ? item.set.target : specIn(item)?.target) +
  targetBytes((item.kind === "change" ? item.set : specIn(item))?.onDead) +
  tagBytes(tagsIn(item)) +
  (item.kind === "outcome" ? attemptLogBytes(item.attemptLog) : 0)

/** Each tag is also a word in the index, which stores write too. */
const tagBytes = (tags: ReadonlyArray<string> | null | undefined): number => {
  if (tags === undefined || tags === null) return 0
  let bytes = 0
  for (const tag of tags) bytes += 300 + tag.length
  return bytes
}

const tagsIn = (item: WriteItem): ReadonlyArray<string> | null | undefined => {
  switch (item.kind) {
    case "put":
    case "schedule":
    case "outcome":
      return item.timer.tags
    case "change":
      return item.set.tags
    case "record":
      return item.life.tags
    case "restore":
      return keyOfArchived(item.archived).tags
    default:
      return undefined
  }
}

/** Most timers of a program share a few targets. */
const targetSizes = new WeakMap<Target, number>()

const targetBytes = (target: Target | null | undefined): number => {
  if (target?.type !== "webhook") return 0
  const known = targetSizes.get(target)
  if (known !== undefined) return known
  let bytes = target.url.length
  for (const name in target.headers) bytes += name.length + (target.headers[name]?.length ?? 0)
  targetSizes.set(target, bytes)
  return bytes
}

/** The spec that an item writes unchanged. */
export const specIn = (item: WriteItem): Spec | undefined => {
  switch (item.kind) {
    case "put":
    case "schedule":
    case "outcome":
      return item.timer.spec
    case "record":
      return item.life.spec
    case "restore":
      return keyOfArchived(item.archived).spec
    default:
      return undefined
  }
}

const payloadOf = (item: WriteItem): Uint8Array | null | undefined => {
  switch (item.kind) {
    case "put":
    case "schedule":
      return item.timer.payload
    case "change":
      return item.set.payload
    case "outcome":
      if (item.then.to === "dead") return item.timer.payload
      return item.then.to === "rearmed" ? item.then.payload : undefined
    case "restore":
      return keyOfArchived(item.archived).payload
    default:
      return undefined
  }
}
