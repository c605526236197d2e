// A change of the place of one pending timer in the orders of its key and of its due time. A row of the journal has the
// moves of one commit.
import type { TimerKey } from "../../../domain/Timer.ts"

/** Where a timer is in the orders of due times. */
export interface Place {
  readonly fireAt: number
  readonly fireId: string
}

export interface Move {
  /** The id of the timer's row. */
  readonly id: number
  readonly shard: number
  readonly key: TimerKey
  /** Absent if the timer is new. */
  readonly from: Place | undefined
  /** Absent if the timer has ended. */
  readonly to: Place | undefined
}

/** The row of the journal cannot be what this program has written. */
export class DamagedJournal extends Error {}

/** For each move: id, shard, namespace, timerId, uuid, and fireAt and fireId before and after, or null. */
const fieldsOfMove = 9

export const textOfMoves = (moves: ReadonlyArray<Move>): string => {
  const fields: Array<string | number | null> = []
  for (const { id, shard, key, from, to } of moves) {
    fields.push(id, shard, key.namespace, key.timerId, key.uuid)
    fields.push(from?.fireAt ?? null, from?.fireId ?? null, to?.fireAt ?? null, to?.fireId ?? null)
  }
  return JSON.stringify(fields)
}

export const movesOfText = (text: string): ReadonlyArray<Move> => {
  const fields: unknown = JSON.parse(text)
  if (!Array.isArray(fields) || fields.length % fieldsOfMove !== 0) {
    throw new DamagedJournal("it is not a list of moves")
  }
  const moves: Array<Move> = []
  for (let at = 0; at < fields.length; at += fieldsOfMove) {
    const [id, shard, namespace, timerId, uuid, oldAt, oldId, newAt, newId] = fields.slice(
      at,
      at + fieldsOfMove,
    )
    if (typeof id !== "number" || typeof shard !== "number" || typeof uuid !== "string") {
      throw new DamagedJournal("it has a move without an id, a shard or a uuid")
    }
    moves.push({
      id,
      shard,
      key: { namespace: String(namespace), timerId: String(timerId), uuid },
      from: placeOf(oldAt, oldId),
      to: placeOf(newAt, newId),
    })
  }
  return moves
}

const placeOf = (fireAt: unknown, fireId: unknown): Place | undefined => {
  if (fireAt === null && fireId === null) return undefined
  if (typeof fireAt !== "number" || typeof fireId !== "string") {
    throw new DamagedJournal("it has a move with half of a place")
  }
  return { fireAt, fireId }
}
