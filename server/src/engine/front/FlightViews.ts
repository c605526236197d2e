// The current status of pending timers: whether an attempt is running, and why a due timer has not started. Only the
// owner of a shard knows. FlightViews asks each other owner once, with a short timeout. If the owner is unknown or does
// not answer, only a pause is shown, because every node knows the pauses.
import { Effect } from "effect"
import type { Timer } from "../../domain/Timer.ts"
import type { FiringStatus } from "../../domain/Waiting.ts"
import type { AskedTimer, PeerNode, Peers } from "../../ports/Peers.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import type { ClusterView } from "../ownership/ClusterView.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"
import type { WaitingReasons } from "./WaitingReasons.ts"

export interface FlightViewsParts {
  readonly own: Pick<OwnWrites, "shardOf" | "inFlightSince" | "owns">
  readonly dispatcher: Pick<Dispatcher, "runningSince" | "hostNameOf">
  readonly reasons: Pick<WaitingReasons, "of" | "ofPause">
  readonly wall: WallClock["Service"]
  /** Absent if only one process uses the store. */
  readonly cluster:
    | { readonly view: ClusterView; readonly peers: Pick<Peers["Service"], "firing"> }
    | undefined
}

/** The keys are fireIds. Timers without a status have no entry: they are not due, or are about to start. */
export type FiringStatuses = ReadonlyMap<string, FiringStatus>

const askWithinMs = 300
/** The most questions to one owner at once. More could use up the connections if the owner does not answer. */
const asksAtOnce = 16
/** Owners are not asked about timers that are due later than this, because no clock should be that far ahead. */
const soonMs = 60_000

interface Question {
  readonly to: PeerNode
  readonly timers: Array<AskedTimer>
}

/** The answer of an owner that did not answer. */
const silence: ReadonlyArray<FiringStatus> = []

export class FlightViews {
  readonly #parts: FlightViewsParts
  /** How many questions are running, by the address of the owner. */
  readonly #asking = new Map<string, number>()

  constructor(parts: FlightViewsParts) {
    this.#parts = parts
  }

  /** The statuses of timers of this node's shards, in order. */
  statusesHere(timers: ReadonlyArray<AskedTimer>): ReadonlyArray<FiringStatus> {
    const running = this.#parts.dispatcher.runningSince()
    return timers.map((asked) => {
      const inFlightSinceMs = running.get(asked.fireId)
      return inFlightSinceMs === undefined ? statusOf(this.#parts.reasons.of(asked)) : { inFlightSinceMs }
    })
  }

  /** The statuses of timers of any owner. Each owner is asked once. */
  statusesOf(timers: ReadonlyArray<Timer>): Effect.Effect<FiringStatuses> {
    return Effect.suspend(() => {
      const found = new Map<string, FiringStatus>()
      const elsewhere = this.#lookHere(timers, found)
      if (elsewhere.size === 0) return Effect.succeed(found)
      // The concurrency is the number of owners.
      const asked = Effect.forEach(elsewhere.values(), (question) => this.#ask(question, found), {
        concurrency: "unbounded",
        discard: true,
      })
      return Effect.as(asked, found)
    })
  }

  /** The status of a timer that was just armed. No other node is asked, because the answer must not wait for it. */
  statusWhenArmed(timer: Timer): FiringStatus {
    const { own, reasons, wall } = this.#parts
    if (timer.fireAt > wall.now()) return quiet
    const shard = own.shardOf(timer)
    const isOwn = shard !== undefined && own.owns(shard)
    return statusOf(isOwn ? reasons.of(this.#asked(timer)) : reasons.ofPause(timer))
  }

  /** Finds the statuses of timers of this node's shards, and groups the others by owner. */
  #lookHere(timers: ReadonlyArray<Timer>, found: Map<string, FiringStatus>): ReadonlyMap<string, Question> {
    const { cluster, own, reasons, wall } = this.#parts
    const byOwner = new Map<string, Question>()
    const nowMs = wall.now()
    for (const timer of timers) {
      const inFlightSinceMs = own.inFlightSince(timer)
      if (inFlightSinceMs !== undefined) {
        found.set(timer.fireId, { inFlightSinceMs })
        continue
      }
      const dueMs = dueSinceMs(timer, nowMs)
      if (dueMs > nowMs + soonMs) continue
      const shard = own.shardOf(timer)
      if (shard !== undefined && own.owns(shard)) {
        const waiting = dueMs > nowMs ? undefined : reasons.of(this.#asked(timer))
        if (waiting !== undefined) found.set(timer.fireId, { waiting })
        continue
      }
      const to = shard === undefined ? undefined : cluster?.view.ownerOf(shard)
      if (to === undefined) {
        this.#notePause(timer, found)
        continue
      }
      const question = byOwner.get(to.address)
      if (question === undefined) byOwner.set(to.address, { to, timers: [this.#asked(timer)] })
      else question.timers.push(this.#asked(timer))
    }
    return byOwner
  }

  #asked(timer: Timer): AskedTimer {
    const { namespace, uuid, fireId, updatedAt } = timer
    const { target } = timer.spec
    const fireAt = dueSinceMs(timer, this.#parts.wall.now())
    const host = this.#parts.dispatcher.hostNameOf(target)
    return { namespace, uuid, fireId, fireAt, updatedAt, targetType: target.type, host }
  }

  #ask({ to, timers }: Question, found: Map<string, FiringStatus>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { cluster } = this.#parts
      const underWay = this.#asking.get(to.address) ?? 0
      if (cluster === undefined || underWay >= asksAtOnce) {
        return Effect.sync(() => this.#noteAll(timers, silence, found))
      }
      this.#asking.set(to.address, underWay + 1)
      return cluster.peers.firing(to, timers).pipe(
        Effect.timeoutOrElse({ duration: askWithinMs, orElse: () => Effect.succeed(silence) }),
        Effect.catch(() => Effect.succeed(silence)),
        Effect.map((statuses) => this.#noteAll(timers, statuses, found)),
        Effect.ensuring(Effect.sync(() => this.#endAsking(to.address))),
      )
    })
  }

  #noteAll(
    timers: ReadonlyArray<AskedTimer>,
    statuses: ReadonlyArray<FiringStatus>,
    found: Map<string, FiringStatus>,
  ): void {
    for (const [index, timer] of timers.entries()) {
      const status = statuses[index]
      if (status === undefined) this.#notePause(timer, found)
      else found.set(timer.fireId, status)
    }
  }

  /** Notes a pause, if the timer is due and paused. */
  #notePause(timer: Timer | AskedTimer, found: Map<string, FiringStatus>): void {
    const waiting = this.#parts.reasons.ofPause(timer)
    if (waiting !== undefined) found.set(timer.fireId, { waiting })
  }

  #endAsking(address: string): void {
    const underWay = this.#asking.get(address) ?? 1
    if (underWay === 1) this.#asking.delete(address)
    else this.#asking.set(address, underWay - 1)
  }
}

/**
 * When the timer is or was due. A timer that could not be sent may be postponed in the store, without an attempt. Before
 * its first attempt it has been due since its executeAt. Later it has been due at least since the postponement: only
 * attempts and postponements change a timer with attempts, so a change after its last attempt is a postponement.
 */
const dueSinceMs = ({ attempts, executeAt, fireAt, updatedAt, attemptLog }: Timer, nowMs: number): number => {
  if (attempts === 0) return executeAt <= nowMs ? Math.min(executeAt, fireAt) : fireAt
  const last = attemptLog?.at(-1)
  const isPostponed = last !== undefined && updatedAt > last.at + last.durationMs
  return isPostponed && updatedAt <= nowMs ? Math.min(updatedAt, fireAt) : fireAt
}

/** The timer is not due or about to start. */
const quiet: FiringStatus = {}

const statusOf = (waiting: FiringStatus["waiting"]): FiringStatus =>
  waiting === undefined ? quiet : { waiting }
