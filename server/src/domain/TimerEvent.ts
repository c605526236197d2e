// What happened to a timer, for people and programs that watch. Nothing of this is stored, and events have no payloads.
import type { FinishedState } from "./Timer.ts"
import { keyOfArchived, keyOfItem, type Then, type WriteAnswer, type WriteItem } from "./WriteItem.ts"

/** The contract lists the same words in `api/src/TimerEvents.ts`. */
export type TimerEventType =
  | "created"
  | "changed"
  | "cancelled"
  | "started"
  | "delivered"
  | "retried"
  | "dead"
  | "replayed"

export interface TimerEvent {
  readonly type: TimerEventType
  readonly namespace: string
  readonly timerId: string
  /** Absent if the timer was cancelled while it was only in the store. */
  readonly fireId?: string
  readonly at: number
  /** The state of the timer after the event. */
  readonly state: "pending" | "inFlight" | FinishedState
}

/** What an answered write means, if it means anything to those who watch. */
export const eventTypeOf = (item: WriteItem, answer: WriteAnswer): TimerEventType | undefined => {
  switch (answer.result) {
    case "created":
    case "replayed":
      return answer.result
    case "replaced":
    case "changed":
    case "moved":
      return "changed"
    case "cancelled":
    case "inFlight":
      // A cancel during an attempt ends the life too: no other attempt follows. A change during an attempt is refused.
      return item.kind === "cancel" || item.kind === "schedule" ? "cancelled" : undefined
    case "settled":
      return item.kind === "outcome" ? settledTypes[item.then.to] : undefined
    case "recorded":
      return item.kind === "record" && item.life.state === "delivered" ? "delivered" : undefined
    default:
      return undefined
  }
}

const settledTypes: Readonly<Record<Then["to"], TimerEventType | undefined>> = {
  delivered: "delivered",
  rearmed: "delivered",
  retry: "retried",
  dead: "dead",
  dropped: "cancelled",
  postponed: undefined,
}

/**
 * The event that an answered write means, if it means one. A write that was repeated may get its first answer again, so
 * an event can come twice. `knownFireId`: the arming that the owner had in memory.
 */
export const eventOfAnswer = (
  item: WriteItem,
  answer: WriteAnswer,
  knownFireId: string | undefined,
): TimerEvent | undefined => {
  const type = eventTypeOf(item, answer)
  if (type === undefined) return undefined
  const { namespace, timerId } = keyOfItem(item)
  const { fireId, at } = armingOf(item, answer, knownFireId)
  return {
    type,
    namespace,
    timerId,
    ...(fireId === undefined ? {} : { fireId }),
    at,
    state: item.kind === "outcome" && item.then.to === "rearmed" ? "pending" : stateAfter[type],
  }
}

const stateAfter: Readonly<Record<TimerEventType, TimerEvent["state"]>> = {
  created: "pending",
  changed: "pending",
  replayed: "pending",
  retried: "pending",
  started: "inFlight",
  delivered: "delivered",
  cancelled: "cancelled",
  dead: "dead",
}

const armingOf = (
  item: WriteItem,
  answer: WriteAnswer,
  knownFireId: string | undefined,
): { readonly fireId: string | undefined; readonly at: number } => {
  if ("timer" in answer) return { fireId: answer.timer.fireId, at: answer.timer.updatedAt }
  switch (item.kind) {
    case "outcome":
      return { fireId: item.timer.fireId, at: item.at }
    case "record":
      return { fireId: item.life.fireId, at: item.life.finishedAt }
    case "cancel":
      return { fireId: item.inFlight ?? knownFireId, at: item.at }
    default:
      return { fireId: knownFireId, at: "at" in item ? item.at : keyOfCreate(item).createdAt }
  }
}

/** The items without an instant of their own carry a timer or a life. */
const keyOfCreate = (
  item: Extract<WriteItem, { kind: "put" | "schedule" | "restore" }>,
): { readonly createdAt: number } => (item.kind === "restore" ? keyOfArchived(item.archived) : item.timer)
