// A store over a few sessions of a database server that calls share. Each lane has sessions of its own (serverStore.ts).
import { type Context, Effect, type Scope } from "effect"
import type { StorageLimits } from "../ports/ShardStorage.ts"
import type { StoreClock } from "../ports/StoreClock.ts"
import { type SessionKind, SessionPool } from "./SessionPool.ts"
import { type ServerLane, type ServerServices, type ServerStoreOptions, serverStore } from "./serverStore.ts"

export interface SessionStoreOptions<Session> extends Omit<ServerStoreOptions<Session>, "lanes" | "limits"> {
  /** The sessions of writes, claims and renewals. */
  readonly writing: SessionKind<Session>
  readonly reading: SessionKind<Session>
  readonly limits: Omit<StorageLimits, "concurrentWrites">
  /** How many there are in all. */
  readonly connections?: number | "few" | undefined
}

const defaultSessions = 8

/** One each for writes, reads, claims and renewals. */
export const fewestSessions = 4

export const sessionStore = <Session>(
  options: SessionStoreOptions<Session>,
): Effect.Effect<Context.Context<ServerServices | StoreClock>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { writing, reading, limits, connections = defaultSessions } = options
    const total = connections === "few" ? fewestSessions : Math.max(fewestSessions, connections)
    const concurrentWrites = Math.floor((total - 2) / 2)
    const lanes = {
      writes: yield* pooled(writing, concurrentWrites),
      reads: yield* pooled(reading, total - 2 - concurrentWrites),
      claims: yield* pooled(writing, 1),
      renewals: yield* pooled(writing, 1),
    }
    return yield* serverStore({ ...options, lanes, limits: { ...limits, concurrentWrites } })
  })

const pooled = <Session>(
  kind: SessionKind<Session>,
  size: number,
): Effect.Effect<ServerLane<Session>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new SessionPool(kind, size)),
      (pool) => Effect.promise(() => pool.close()),
    ),
    (pool) => (use) => pool.run(use),
  )
