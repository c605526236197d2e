// Opens what a cut has left with the code of the store, and compares it to the planned writes: every answered write is
// there and none of it twice, the write that was under way is there as a whole or not at all, and all orders, lists,
// counts and looks say the same. Then it writes once more, merges everything, and compares again.
import { beginning } from "../../src/domain/DueOrder.ts"
import type { FinishedLife, Timer } from "../../src/domain/Timer.ts"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { Lookup } from "../../src/stores/sqlite/Lookup.ts"
import { faultsOfOrders } from "../../src/stores/sqlite/level0/faultsOfOrders.ts"
import { mergingOf } from "../../src/stores/sqlite/level0/MergeWork.ts"
import { openOrders } from "../../src/stores/sqlite/level0/openOrders.ts"
import { idsOfReader, idsOfWriter } from "../../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../../src/stores/sqlite/level0/ReaderOrders.ts"
import { numberIn, openForReading, openForWriting } from "../../src/stores/sqlite/openDatabase.ts"
import { Reader, type Sliced } from "../../src/stores/sqlite/Reader.ts"
import { unpackHeads } from "../../src/stores/sqlite/timerWire.ts"
import { Writer } from "../../src/stores/sqlite/Writer.ts"
import { putOf, sampleNow, sampleTimer } from "../timers.ts"
import { type PlannedState, plannedNamespaces } from "./PlannedWrites.ts"
import { recordedShards } from "./recordedPlan.ts"

/** The state after the last answered write, and after the one that may have been under way. */
export type Allowed = readonly [PlannedState, PlannedState]

/** What is wrong, or undefined if nothing is. */
export const examineCut = (path: string, allowed: Allowed): string | undefined => {
  try {
    const { database, lock } = openForWriting({ path, shards: recordedShards })
    try {
      using readDatabase = openForReading({ path, shards: recordedShards })
      const orders = openOrders(database, path)
      const lookup = new Lookup(database, idsOfWriter(orders))
      const readerOrders = new ReaderOrders(readDatabase, { isReadOnly: true })
      const reader = new Reader(readerOrders, new Lookup(readDatabase, idsOfReader(readerOrders)))
      const check = database.query("PRAGMA integrity_check").values().join("; ")
      if (check !== "ok") return `SQLite finds: ${check}`
      const seen = { reader, readerOrders, lookup }
      const found = allowed.map((state) => difference(seen, state))
      const index = found.indexOf(undefined)
      const state = allowed[index]
      if (state === undefined) return `after the start: ${[...new Set(found)].join("; or ")}`
      const added = sampleTimer({ timerId: "after-the-cut", fireAt: sampleNow + 500 })
      const shard = shardOf(added.uuid, recordedShards)
      const epoch = numberIn(database, `SELECT epoch FROM shards WHERE shard = ${shard}`)
      new Writer(orders, lookup).write([{ shard, epoch, items: [putOf(added)] }])
      const later = { ...state, pending: new Map([...state.pending, [added.timerId, added]]) }
      const afterWrite = difference(seen, later)
      if (afterWrite !== undefined) return `after one more write: ${afterWrite}`
      const { merge, runMoves } = mergingOf(orders, 3)
      merge.finish()
      const left = numberIn(database, "SELECT count(*) FROM journal")
      if (left !== 0) return `the journal has ${left} rows after the merge`
      const afterMerge = difference(seen, later)
      if (afterMerge !== undefined) return `after the merge: ${afterMerge}`
      while (runMoves.slice(10) !== undefined) {}
      const afterMove = difference(seen, later)
      return afterMove === undefined ? undefined : `after the move of runs: ${afterMove}`
    } finally {
      database.close()
      lock.close()
    }
  } catch (error) {
    return `the store failed: ${error instanceof Error ? error.message : error}`
  }
}

interface Seen {
  readonly reader: Reader
  readonly readerOrders: ReaderOrders
  readonly lookup: Lookup
}

const difference = ({ reader, readerOrders, lookup }: Seen, state: PlannedState): string | undefined => {
  const faults = readerOrders.atOneInstant(() => faultsOfOrders(readerOrders))
  if (faults.length > 0) return faults.join("; ")
  return (
    differenceOfDues(reader, state) ??
    differenceOfLists(reader, state) ??
    differenceOfLooks(lookup, state) ??
    differenceOfEnds(readerOrders, state) ??
    differenceOfTally(reader, state)
  )
}

const differenceOfDues = (reader: Reader, { pending }: PlannedState): string | undefined => {
  const seen = new Set<string>()
  for (let shard = 0; shard < recordedShards; shard++) {
    const query = {
      shard,
      exclusiveAfter: beginning,
      inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
      limit: 10_000,
    }
    let before = 0
    for (const { timerId, fireId, fireAt } of unpackHeads(reader.dueHeads(query))) {
      if (seen.has(timerId)) return `${timerId} is twice in the order of due times`
      seen.add(timerId)
      if (fireAt < before) return `${timerId} is not in its place in the order of due times`
      before = fireAt
      const planned = pending.get(timerId)
      if (planned === undefined) return `${timerId} is pending, though it was not answered or has ended`
      if (!isAt(planned, { fireId, fireAt })) return `${timerId} is at ${fireAt}, not at ${planned.fireAt}`
    }
  }
  const lost = [...pending.keys()].find((timerId) => !seen.has(timerId))
  return lost === undefined ? undefined : `${lost} was answered, and is lost`
}

/** The walk of a list reads the order by time in a namespace; with a prefix it reads the order by id. */
const differenceOfLists = (reader: Reader, { pending }: PlannedState): string | undefined => {
  for (const namespace of plannedNamespaces) {
    const planned = [...pending.values()].filter((timer) => timer.namespace === namespace)
    for (const filter of [{}, { idPrefix: "t-1" }]) {
      const prefix = filter.idPrefix ?? ""
      const expected = planned.filter(({ timerId }) => timerId.startsWith(prefix)).length
      const { count } = resultIn(reader.count({ namespace, state: "pending", limit: 10_000, ...filter }))
      if (count !== expected) return `${namespace} has a count of ${count}, not ${expected} (${prefix})`
    }
  }
  return undefined
}

const differenceOfLooks = (lookup: Lookup, { pending }: PlannedState): string | undefined => {
  for (const timer of pending.values()) {
    const found = lookup.look({ key: timer, withPayload: true }).pending
    if (found === undefined || !isAt(timer, found)) return `a look at ${timer.timerId} does not find it`
    const [bytes, planned] = [found.payload, timer.payload]
    if (Buffer.compare(bytes ?? nothing, planned ?? nothing) !== 0) {
      return `${timer.timerId} has another payload`
    }
  }
  return undefined
}

const nothing = new Uint8Array()

const differenceOfEnds = ({ database }: ReaderOrders, { ended }: PlannedState): string | undefined => {
  const rows = database
    .query(
      `SELECT lower(hex(fire_id)) AS id, state FROM history
       UNION ALL SELECT lower(hex(fire_id)), 'dead' FROM dead`,
    )
    .all() as ReadonlyArray<{ readonly id: string; readonly state: FinishedLife["state"] }>
  const found = new Map(rows.map(({ id, state }) => [id, state]))
  if (found.size !== rows.length) return "a life has ended twice"
  if (found.size !== ended.size) return `${found.size} lives have ended, not ${ended.size}`
  for (const [fireId, state] of ended) {
    const stored = found.get(fireId.replaceAll("-", ""))
    if (stored !== state) return `the life ${fireId} is ${stored ?? "lost"}, not ${state}`
  }
  return undefined
}

const differenceOfTally = (reader: Reader, { ended, replaced }: PlannedState): string | undefined => {
  const tally = reader.tally()
  for (const state of ["delivered", "cancelled", "dead", "replaced"] as const) {
    const planned =
      state === "replaced" ? replaced : [...ended.values()].filter((one) => one === state).length
    if (tally[state] !== planned) return `the tally has ${tally[state]} ${state}, not ${planned}`
  }
  return undefined
}

const isAt = (timer: Timer, { fireId, fireAt }: { readonly fireId: string; readonly fireAt: number }) =>
  timer.fireId === fireId && timer.fireAt === fireAt

const resultIn = <A>(work: Sliced<A>): A => {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
