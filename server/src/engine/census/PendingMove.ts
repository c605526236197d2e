// Where the pending timer of a key was before a write, and where it is after it, as far as the answer tells.
import type { Cursor } from "../../domain/DueOrder.ts"
import type { Uuid } from "../../domain/Timer.ts"
import { keyOfItem, type WriteAnswer, type WriteItem } from "../../domain/WriteItem.ts"

export interface PendingMove {
  readonly namespace: string
  readonly uuid: Uuid
  /** Absent if nothing was pending. */
  readonly from?: Cursor
  /** Absent if nothing is pending any more. */
  readonly to?: Cursor
}

/**
 * `undefined` if the write moved nothing. `vacated` is the place of the pending row that the store replaced or removed.
 * A repeated write may answer without it. Then the earlier place is not known, and the move is left out.
 */
export const pendingMoveOf = (
  item: WriteItem,
  answer: WriteAnswer,
  vacated: Cursor | undefined,
): PendingMove | undefined => {
  switch (answer.result) {
    case "created":
    case "replayed":
      return moveOf(item, undefined, answer.timer)
    case "replaced":
    case "changed":
    case "moved":
      return vacated === undefined ? undefined : moveOf(item, vacated, answer.timer)
    case "cancelled":
    case "inFlight":
      return vacated === undefined ? undefined : moveOf(item, vacated, undefined)
    case "settled":
      return item.kind === "outcome" ? moveOf(item, item.timer, answer.next) : undefined
    default:
      return undefined
  }
}

const moveOf = (item: WriteItem, from: Cursor | undefined, to: Cursor | undefined): PendingMove => {
  const { namespace, uuid } = keyOfItem(item)
  return {
    namespace,
    uuid,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}
