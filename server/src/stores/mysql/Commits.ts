// The writes of the storage: commits, inserts without an owner, pruning.
//
// A transaction that writes timers or lives of a shard first locks the shard's row in `shards`. So nothing of a shard
// changes while its row is locked, except that pruning removes old lives. The statements after the lock see everything
// that the transaction had to wait for (READ COMMITTED).
//
// Nearly all commits consist of new timers and of timers in an expected state, and find what they expect. They are sent
// as one packet: fence, checks, writes. A check that fails is an error of its statement. The server then executes
// nothing after it, and the transaction is rolled back. All other commits, and those whose checks failed, need two
// round trips: the first locks the fences and reads, the second writes what met its expectations.
import type { Timer } from "../../domain/Timer.ts"
import type { Commit, CommitAnswer, Inserted, KeyChange } from "../../ports/ShardStorage.ts"
import { insertionsOf } from "../insertions.ts"
import type { KeyCheck } from "../KeyCheck.ts"
import { sortedOut } from "../whyUnstorable.ts"
import { type FoundRows, foundStatements, isMet } from "./expectations.ts"
import { isUndone, isUnmet } from "./failures.ts"
import type { Session } from "./MysqlSessions.ts"
import { checkStatements, type Done, fenceStatement, tallyOf, writeStatements } from "./writes.ts"

/** A deadlock or a wait for a lock that took too long has changed nothing, so the same commit is sent again. */
const triesMost = 3

const retried = async <A>(run: () => Promise<A>): Promise<A> => {
  for (let tried = 1; ; tried++) {
    try {
      return await run()
    } catch (error) {
      if (tried === triesMost || !isUndone(error)) throw error
    }
  }
}

/** A change with its place in its commit. */
interface Asked extends Done {
  readonly index: number
}

const askedOf = (commit: Commit) => {
  const { asked, refused } = sortedOut(commit.changes)
  return { commit, asked: asked.map((one): Asked => ({ ...one, shard: commit.shard })), refused }
}

type AskedCommit = ReturnType<typeof askedOf>

/** Whether a packet can check what the change expects. */
const isCheckable = ({ expects: { pending, last, life }, removesLife }: KeyChange): boolean =>
  life === undefined &&
  removesLife === undefined &&
  (pending === null ? last === null : pending !== undefined)

export const commitAll = async (
  session: Session,
  commits: ReadonlyArray<Commit>,
  keyCheck: KeyCheck,
): Promise<ReadonlyArray<CommitAnswer>> => {
  if (commits.length === 0) return []
  const parts = commits.map(askedOf)
  if (!keyCheck.isOn && parts.every(({ asked }) => asked.every(({ change }) => isCheckable(change)))) {
    try {
      return await retried(() => commitAtOnce(session, parts))
    } catch (error) {
      if (!isUnmet(error)) throw error
    }
  }
  const answers = await retried(() => commitChecked(session, parts))
  keyCheck.answered(answers.some((answer) => answer.result !== "committed" || answer.missed.length > 0))
  return answers
}

/** All or nothing, in one round trip. */
const commitAtOnce = async (
  session: Session,
  parts: ReadonlyArray<AskedCommit>,
): Promise<ReadonlyArray<CommitAnswer>> => {
  const all = parts.flatMap(({ asked }) => asked)
  await session.transaction([
    ...fenceStatement(parts.map(({ commit, asked }) => ({ ...commit, tally: tallyOf(asked) }))),
    ...checkStatements(all),
    ...writeStatements(all),
  ])
  return parts.map(({ refused }) => ({ result: "committed", missed: [], refused }))
}

interface FenceRow {
  readonly shard: number
  readonly epoch: number
  readonly last_write: number
}

/** Without the hint the server could read the whole table, because it is small, and wait for the fences of other nodes. */
const lockFences = (shards: ReadonlyArray<number>): string =>
  `SELECT shard, epoch + 0e0 AS epoch, last_write + 0e0 AS last_write FROM shards FORCE INDEX (PRIMARY)
    WHERE shard IN (${shards.join(", ")}) ORDER BY shards.shard FOR UPDATE`

const commitChecked = async (
  session: Session,
  parts: ReadonlyArray<AskedCommit>,
): Promise<ReadonlyArray<CommitAnswer>> => {
  const [fences = [], ...found] = await session.begin<FenceRow & FoundRows>([
    lockFences(parts.map(({ commit }) => commit.shard)),
    ...foundStatements(parts.flatMap(({ asked }) => asked)),
  ])
  const rows = new Map(fences.map((row) => [row.shard, row]))
  const met = isMet(found)
  const judged = parts.map((part) => {
    const fence = rows.get(part.commit.shard)
    if (fence?.epoch !== part.commit.epoch) return { ...part, result: "ownershipLost" as const, done: [] }
    if (fence.last_write >= part.commit.number) return { ...part, result: "overtaken" as const, done: [] }
    const done = part.asked.flatMap((one) => met(one) ?? [])
    return { ...part, result: "committed" as const, done }
  })
  const accepted = judged.filter(({ result }) => result === "committed")
  const done = accepted.flatMap((part) => part.done)
  if (accepted.length === 0) await session.rollBack()
  else
    await session.commit([
      ...fenceStatement(accepted.map((part) => ({ ...part.commit, tally: tallyOf(part.done) }))),
      ...writeStatements(done),
    ])
  return judged.map(({ result, asked, done: own, refused }): CommitAnswer => {
    if (result !== "committed") return { result }
    const carriedOut = new Set(own.map(({ index }) => index))
    const missed = asked.map(({ index }) => index).filter((index) => !carriedOut.has(index))
    return { result, missed, refused }
  })
}

/** The shard's row is locked too, so that the owner's commits come before or after this. */
export const insertNew = async (
  session: Session,
  shard: number,
  timers: ReadonlyArray<Timer>,
): Promise<ReadonlyArray<Inserted>> => {
  const { answers, asked } = insertionsOf(shard, timers)
  const stored = asked.length === 0 ? [] : await retried(() => insertAll(session, shard, asked))
  for (const { index } of stored) answers[index] = "stored"
  return answers
}

const insertAll = async (
  session: Session,
  shard: number,
  asked: ReadonlyArray<Asked>,
): Promise<ReadonlyArray<Asked>> => {
  const [, ...found] = await session.begin<FenceRow & FoundRows>([
    lockFences([shard]),
    ...foundStatements(asked),
  ])
  const met = isMet(found)
  const done = asked.flatMap((one) => met(one) ?? [])
  if (done.length === 0) await session.rollBack()
  else
    await session.commit([
      `UPDATE shards SET created = created + ${done.length}, foreign_writes = foreign_writes + 1 WHERE shard = ${shard}`,
      ...writeStatements(done),
    ])
  return done
}

/** A life has at most 10 tags and a correlation id. */
const wordsALife = 11

export const prune = async (session: Session, exclusiveBeforeMs: number, limit: number): Promise<number> => {
  let pruned = 0
  for (const state of ["delivered", "cancelled"]) {
    const old = (column: string, most: number) =>
      `WHERE state = '${state}' AND ${column} < ${exclusiveBeforeMs} ORDER BY ${column} LIMIT ${most}`
    const results = await retried(() =>
      session.transaction<{ readonly pruned: number }>([
        `DELETE FROM lookups ${old("at", wordsALife * limit)}`,
        `DELETE FROM history ${old("finished_at", limit - pruned)}`,
        "SELECT ROW_COUNT() AS pruned",
      ]),
    )
    pruned += results[2]?.[0]?.pruned ?? 0
  }
  return pruned
}
