// What stores of database servers say when they are opened: the sentences about a schema that does not fit, and the error
// of an opening.
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { Effect, Schema } from "effect"
import type { StoreOpening } from "../ports/StoreAdapter.ts"

/** What a service or a test names when it opens a store. */
export interface ServerOpening extends Omit<StoreOpening, "workerUrl" | "connections"> {
  /** The maximum, or as few as possible. */
  readonly connections?: number | "few"
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class StoreOpenError extends Schema.TaggedError<StoreOpenError>()("StoreOpenError", {
  reason: Schema.String,
  message: Schema.String,
}) {}

/** Explains the failure of an opening. */
export type Explain = (error: unknown) => Error | Promise<Error>

export const opening = <A>(open: () => PromiseLike<A>, explain: Explain): Effect.Effect<A, StoreOpenError> =>
  Effect.tryPromise({
    try: async () => {
      try {
        return await open()
      } catch (error) {
        throw error instanceof DatabaseFailure ? error : await explain(error)
      }
    },
    catch: (error) => {
      const reason = error instanceof DatabaseFailure ? error.reason : "failed"
      return new StoreOpenError({ reason, message: error instanceof Error ? error.message : String(error) })
    },
  })

/** What is stored about a store. The version is 0 if there is none. */
export interface StoredSchema {
  readonly version: number
  readonly shards: number
}

export const noStore = (shown: string): DatabaseFailure =>
  new DatabaseFailure("missing", `There is no store in ${shown}: name the database that contains one.`)

export const olderSchema = (shown: string, version: number, programVersion: number): DatabaseFailure =>
  new DatabaseFailure(
    "olderSchema",
    `${shown} has schema version ${version}, and this program reads ${programVersion}: run the service on it once to migrate it.`,
  )

export const checkNotNewer = (shown: string, version: number, programVersion: number): void => {
  if (version <= programVersion) return
  throw new DatabaseFailure(
    "newerSchema",
    `${shown} has schema version ${version}, and this program supports at most ${programVersion}: start the newer program that made it, or name another database.`,
  )
}

export const beingMigrated = (shown: string): DatabaseFailure =>
  new DatabaseFailure("failed", `${shown} is being migrated by another process: try again later.`)

/** A lock in a database that has none of its own. */
export interface StoreLock {
  /** Whether the lock was free, or has ended because its holder died. */
  take(): Promise<boolean>
  release(): Promise<unknown>
}

const lockPauseMs = 200

/** One process at a time creates or migrates a store. */
export const underLock = async (
  shown: string,
  lock: StoreLock,
  mostWaitMs: number,
  work: () => Promise<void>,
): Promise<void> => {
  for (let waitedMs = 0; !(await lock.take()); waitedMs += lockPauseMs) {
    if (waitedMs > mostWaitMs) throw beingMigrated(shown)
    await new Promise((resolve) => setTimeout(resolve, lockPauseMs))
  }
  try {
    await work()
  } finally {
    await lock.release().catch(() => {})
  }
}

/** `other` is what an operator can name to get a new store. */
export const checkShards = (
  shown: string,
  stored: number,
  configured: number,
  other = "another database",
): void => {
  if (stored === configured) return
  throw new DatabaseFailure(
    "otherShardCount",
    `${shown} has ${stored} ${stored === 1 ? "shard" : "shards"}, but TIMER_SHARDS is ${configured}: the number is fixed when the store is created; set TIMER_SHARDS to ${stored}, or name ${other}.`,
  )
}
