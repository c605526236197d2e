// The rows of an SQL store for an archive and for the doctor, in three parts: pending timers, history, dead letters. An
// adapter says by which columns it reads each part. They follow an index.
import type { ArchivePlace } from "../ports/TimerArchive.ts"
import {
  type KeyColumns,
  keyOfColumns,
  type LifeColumns,
  lifeOfColumns,
  type TimerColumns,
  timerOfColumns,
} from "./columnRows.ts"
import type { PagedRows } from "./pagedRows.ts"

/** A selected row of any part. Those of a part have its columns. */
export type SqlRow = KeyColumns &
  TimerColumns &
  LifeColumns & { readonly payload: Uint8Array | null; readonly id: number; readonly shard: number }

type SqlPart = ArchivePlace["part"]
type OrderColumn = "namespace" | "timer_id" | "finished_at" | "id"

interface SqlRows<Session> {
  begin(session: Session): Promise<unknown>
  readonly orders: { readonly [part in SqlPart]: ReadonlyArray<OrderColumn> }
  read(
    session: Session,
    part: SqlPart,
    after: ArchivePlace["key"],
    limit: number,
    withPayload: boolean,
  ): Promise<ReadonlyArray<SqlRow>>
}

export const sqlRows = <Session>({ begin, orders, read }: SqlRows<Session>): PagedRows<Session> => ({
  begin,
  parts: (["pending", "history", "dead"] as const).map((name) => ({
    name,
    first: orders[name].map((column) =>
      column === "namespace" || column === "timer_id" ? "" : Number.MIN_SAFE_INTEGER,
    ),
    read: async (session, after, limit, withPayload) =>
      (await read(session, name, after, limit, withPayload)).map((row) => ({
        item:
          name === "pending"
            ? { kind: "pending", timer: timerOfColumns(keyOfColumns(row), row, row.payload) }
            : { kind: "ended", life: lifeOfColumns(keyOfColumns(row), row, row.payload) },
        place: orders[name].map((column) => row[column]),
        shard: row.shard,
      })),
  })),
})

/**
 * What the doctor says about the index of words. Words of pending timers and of dead letters are written and removed
 * together with their rows, so a word without its row is a fault. Pruning removes words of history and the lives in
 * separate steps, so those are not checked. `count` counts the words of a state that belong to no row.
 */
export const wordFaults = async (
  count: (state: "pending" | "dead") => Promise<number>,
): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  for (const state of ["pending", "dead"] as const) {
    const found = await count(state)
    if (found > 0)
      faults.push(`${found} ${found === 1 ? "word belongs" : "words belong"} to no ${state} timer`)
  }
  return faults
}
