// What may be asked of a shard's write queue, and what is answered. Each item carries its own
// instant (`at`) and its own ids, made once by whoever first saw the request: a repeated item is the
// same item, and is harmless as long as nobody else has written its key since. Where others may have, the
// repeat is marked (`isRepeat`), and is done only if it surely was not done before; else its answer is `unknown`.
import { type AttemptLog, attemptLogBytes } from "./AttemptLog.ts"
import type { FinishedLife, OnDead, Spec, Target, Timer, TimerKey } from "./Timer.ts"
import type { AddedChanges } from "./timerFields.ts"

export type OnExisting = "replace" | "keep" | "fail"

/** A create. `timer` is what is stored if the key is free; its `createdAt` is the receipt. */
export interface Put {
  readonly kind: "put"
  readonly timer: Timer
  readonly onExisting: OnExisting
  /** The correlation id was made, not given: it does not count when comparing with what is pending. */
  readonly madeCorrelationId: boolean
  /** It may have been done already, and others may have written its key since. */
  readonly isRepeat?: true
}

/** An update: what is absent stays, `null` clears. It arms anew under `fireId`. */
export interface Change {
  readonly kind: "change"
  readonly key: TimerKey
  readonly fireId: string
  readonly at: number
  readonly ifRevision?: number
  /** The arming whose attempt is running as this is queued, if one is. */
  readonly inFlight?: string
  /** It may have been done already, and others may have written its key since. */
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

/** A due time asked for over the bus: it creates the timer, or moves it as long as it has not begun to fire. */
export interface Schedule {
  readonly kind: "schedule"
  /** What is stored if the key has neither a pending life nor a finished one; its `createdAt` is the receipt. */
  readonly timer: Timer & { readonly askedAt: number }
  /** The correlation id was made, not given: a move keeps the one that is there. */
  readonly madeCorrelationId: boolean
  /** The arming whose attempt is running as this is queued, if one is. */
  readonly inFlight?: string
  /** The retry policy was given: a move sets it. Else a timer that is there keeps its own. */
  readonly setsRetryPolicy?: true
  /**
   * It cancels the timer instead, ordered by the same time stamps. If the key has never been used, history keeps a cancelled
   * life made of `timer`: its `fireId` names this command, and its `executeAt` is the `askedAt` of the command.
   */
  readonly cancels?: true
}

/** A delete. `cancelId` lets a repeat be told from a second cancel. */
export interface Cancel {
  readonly kind: "cancel"
  readonly key: TimerKey
  readonly cancelId: string
  readonly at: number
  readonly ifRevision?: number
  /** The arming whose attempt is running as this is queued, if one is. */
  readonly inFlight?: string
  /** It may have been done already, and others may have written its key since. */
  readonly isRepeat?: true
}

export type Then =
  | { readonly to: "delivered"; readonly latenessMs: number }
  | { readonly to: "retry"; readonly fireAt: number }
  | {
      readonly to: "rearmed"
      readonly executeAt: number
      readonly fireId: string
      readonly latenessMs: number
      /** Absent keeps the payload. */
      readonly payload?: Uint8Array
    }
  | { readonly to: "dead"; readonly reason: string }
  /** It ends as cancelled: nobody will look at it again. */
  | { readonly to: "dropped"; readonly reason: string }

/**
 * What came of attempt number `attempt` of the timer's arming. It applies only to the row that still
 * has the timer's fireId and `attempt - 1` attempts.
 */
export interface Outcome {
  readonly kind: "outcome"
  /** The timer as the engine held it when the attempt was made. If the stored row still matches, no look is needed. */
  readonly timer: Timer
  readonly attempt: number
  readonly at: number
  /**
   * What the arming's log is from now on, this attempt last. It is exact: whoever makes the outcome has the timer as
   * the row must be for it to apply. Absent: the attempt was never started (expired).
   */
  readonly attemptLog?: AttemptLog
  readonly then: Then
}

/**
 * What came of an attempt whose arming was cancelled or replaced while it ran. It touches nothing
 * that is pending: it corrects, or adds, the history entry of `life.fireId`.
 */
export interface LateRecord {
  readonly kind: "record"
  readonly life: FinishedLife
}

/** Which dead letter: its arming, and the revision that it ended with, by which stores look it up. */
export interface NamedDead {
  readonly key: TimerKey
  readonly deadFireId: string
  readonly deadRevision: number
}

/** Arms the timer of a dead letter again, for now, under `fireId`; the dead letter is gone with that. */
export interface Replay extends NamedDead {
  readonly kind: "replay"
  readonly fireId: string
  readonly at: number
  /** It may have been done already, and others may have written its key since. */
  readonly isRepeat?: true
}

/** Removes a dead letter. */
export interface Discard extends NamedDead {
  readonly kind: "discard"
  readonly at: number
  /** It may have been done already, and others may have written its key since. */
  readonly isRepeat?: true
}

export type ArchivedItem =
  | { readonly kind: "pending"; readonly timer: Timer }
  | { readonly kind: "ended"; readonly life: FinishedLife }

/** Adds what an archive holds, as it was. It overwrites nothing. */
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
/** `ignored` says what the command came too late for. */
export type ScheduleAnswer =
  | { readonly result: "created" | "moved" | "unchanged"; readonly timer: Timer }
  /** Of one that cancels: the timer will not fire. */
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
/** `next` is what is pending under the key after the outcome, if anything is. */
export type OutcomeAnswer =
  | { readonly result: "settled"; readonly next?: Timer }
  | { readonly result: "stale" }
export type RecordAnswer = { readonly result: "recorded" }
/**
 * `alreadyReplayed`: it was done, and what it armed has ended since. `skipped`: the key is pending. `notFound`: the dead
 * letter is gone.
 */
export type ReplayAnswer =
  | { readonly result: "replayed"; readonly timer: Timer }
  | { readonly result: "alreadyReplayed" | "skipped" | "notFound" }
export type DiscardAnswer = { readonly result: "discarded" | "notFound" }

/** `present`: this very arming is there. `differs`: the key has other lives, which stay as they are. */
export type RestoreAnswer = { readonly result: "restored" | "present" | "differs" }

/** The item cannot be stored; its neighbours are not affected. */
export interface Unstorable {
  readonly result: "unstorable"
  readonly reason: string
  /** The reason is not the item, but what is stored under its key: that cannot be read. */
  readonly isUnreadable?: true
}

/** Of a marked repeat only: nothing tells whether it was done before, and nothing was done now. */
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

/** `needsOwner`: the key has had lives, or the store takes no inserts without an owner. Nothing was done. */
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

/** A finished life as an item names it. Its revision is this one, or a higher one from its cancel. */
export interface NamedLife {
  readonly fireId: string
  readonly minRevision: number
}

/** The finished lives that a decision about the item needs, beside the last one. */
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

/** What an item weighs in a batch: its payload, its URL and headers, its tags, what it logs, and a round sum for the rest. */
export const itemBytes = (item: WriteItem): number =>
  500 +
  (payloadOf(item)?.byteLength ?? 0) +
  targetBytes(item.kind === "change" ? item.set.target : specIn(item)?.target) +
  targetBytes((item.kind === "change" ? item.set : specIn(item))?.onDead) +
  tagBytes(tagsIn(item)) +
  (item.kind === "outcome" ? attemptLogBytes(item.attemptLog) : 0)

/** Each is a word, too, which stores write with its place. */
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

/** The spec that an item writes as it is. */
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
