// Polls a service over the public API for `punctual watch`. Each turn is bounded: a few namespaces, and for each one a
// page of the timers due next and a page of the latest outcomes. It counts less often, because counts cost more.
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { ListTimersAnswer } from "@punctual/api/ListTimers"
import { everyNamespace } from "@punctual/api/NamespaceChoices"
import { ServiceAnswer } from "@punctual/api/Service"
import { Clock, Effect } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import type { ServiceFailure } from "../client/ServiceClient.ts"
import {
  callsAtOnce,
  findScopes,
  ifAllowed,
  scopeFields,
  type WatchedScope,
  watchCall,
} from "./WatchedScopes.ts"

export type WatchedTimer = TimerAnswer["timer"]

const dueMost = 10
const outcomesMost = 50
/** Outcomes of the same time do not become visible in order, so each turn reads the last seconds again. */
const overlapMs = 2_000
const countEvery = 5
const knownMost = 10_000

export interface WatchedChange {
  readonly kind: "delivered" | "cancelled" | "dead" | "retry" | "inFlight"
  readonly timer: WatchedTimer
}

export interface Snapshot {
  /** By the clock of the service; if the key may not read it, by the clock of this machine. */
  readonly nowMs: number
  readonly pause: ServiceAnswer["pause"]
  readonly namespaces: ReadonlyArray<WatchedScope>
  /** What the key may not see, and the right that it would need. */
  readonly hidden: ReadonlyArray<string>
  /** The service has more namespaces than the command watches. */
  readonly hasMore: boolean
  /** Pending timers and timers in flight, earliest first. */
  readonly due: ReadonlyArray<WatchedTimer>
  /** The changes since the last turn, oldest first. */
  readonly changes: ReadonlyArray<WatchedChange>
  /** More changes happened than the poll could read. */
  readonly hasMissed: boolean
}

export class WatchPoll {
  readonly #service: ServiceAddress
  readonly #asked: ReadonlyArray<string>
  #turns = 0
  #namespaces: ReadonlyArray<WatchedScope> = []
  #hasMore = false
  #hidden: ReadonlyArray<string> = []
  #mayReadService = true
  /** The next turn reads the outcomes since this time of the service. */
  #fromMs: number | undefined
  /** The changes that were already reported, oldest first. */
  readonly #known = new Set<string>()

  /** If `asked` is empty, it watches the first namespaces of the service, or those of the key. */
  constructor(service: ServiceAddress, asked: ReadonlyArray<string>) {
    this.#service = service
    this.#asked = asked
  }

  /** One turn. The first turn reports no changes. */
  get next(): Effect.Effect<Snapshot, ServiceFailure> {
    return Effect.gen({ self: this }, function* () {
      const service = yield* this.#state
      const isFirst = this.#turns === 0
      if (this.#turns % countEvery === 0) yield* this.#count
      const fromMs = this.#fromMs ?? service?.now
      const pages = yield* Effect.forEach(
        this.#namespaces.flatMap(({ namespace }) => listsOf(namespace, fromMs)),
        (fields) =>
          Effect.map(
            watchCall(this.#service, "/timers/list", fields, ListTimersAnswer),
            ({ timers, nextCursor }) => ({
              isDue: !("state" in fields),
              timers,
              isCut: nextCursor !== undefined,
            }),
          ),
        { concurrency: callsAtOnce },
      )
      this.#turns++
      const due = pages.flatMap(({ isDue, timers }) => (isDue ? timers : []))
      const finished = pages.flatMap(({ isDue, timers }) => (isDue ? [] : timers))
      const hasMissed = pages.some(({ isDue, isCut, timers }) => !isDue && isCut && this.#hasGap(timers))
      const changes = this.#changesIn(due, finished)
      this.#fromMs = service?.now ?? latestOf(finished, this.#fromMs)
      return {
        nowMs: service?.now ?? (yield* Clock.currentTimeMillis),
        pause: service?.pause,
        namespaces: this.#namespaces,
        hidden: [...(this.#mayReadService ? [] : [serviceHidden]), ...this.#hidden],
        hasMore: this.#hasMore,
        due: due.toSorted((a, b) => dueAt(a) - dueAt(b)).slice(0, dueMost),
        changes: isFirst ? [] : changes,
        hasMissed: !isFirst && hasMissed,
      }
    })
  }

  /** The state of the service; `undefined` if the key may not read it, which never changes. */
  get #state(): Effect.Effect<ServiceAnswer | undefined, ServiceFailure> {
    if (!this.#mayReadService) return Effect.succeed(undefined)
    return Effect.tap(ifAllowed(watchCall(this.#service, "/service/get", {}, ServiceAnswer)), (state) =>
      Effect.sync(() => {
        this.#mayReadService = state !== undefined
      }),
    )
  }

  get #count() {
    return Effect.map(findScopes(this.#service, this.#asked), ({ scopes, hasMore, hidden }) => {
      this.#namespaces = scopes
      this.#hasMore = hasMore
      this.#hidden = hidden
    })
  }

  /**
   * Whether outcomes between the last turn and this page, which is cut, are missing. If an earlier turn already read
   * the oldest row of the page, the page has everything that is newer.
   */
  #hasGap(page: ReadonlyArray<WatchedTimer>): boolean {
    const [first, ...others] = page
    if (first === undefined) return true
    const oldest = others.reduce((a, b) => ((b.finishedAt ?? 0) <= (a.finishedAt ?? 0) ? b : a), first)
    return !this.#known.has(outcomeName(oldest))
  }

  #changesIn(
    due: ReadonlyArray<WatchedTimer>,
    finished: ReadonlyArray<WatchedTimer>,
  ): ReadonlyArray<WatchedChange> {
    const changes: Array<WatchedChange> = []
    const tell = (change: WatchedChange, name: string) => {
      if (this.#known.has(name)) return
      this.#known.add(name)
      changes.push(change)
    }
    for (const timer of finished.toSorted((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0))) {
      const kind = timer.state
      if (kind === "delivered" || kind === "cancelled" || kind === "dead") {
        tell({ kind, timer }, outcomeName(timer))
      }
    }
    const ended = new Set(finished.map(({ fireId }) => fireId))
    for (const timer of due) {
      // The service read the due timers before it read the finished ones, so this row is older than the outcome.
      if (ended.has(timer.fireId)) continue
      const { fireId, attempts, lastAttempt } = timer
      if (timer.state === "inFlight") tell({ kind: "inFlight", timer }, `${fireId} inFlight ${attempts}`)
      else if (lastAttempt !== undefined) tell({ kind: "retry", timer }, `${fireId} retry ${lastAttempt.at}`)
    }
    // A set keeps the order of insertion.
    for (const name of this.#known) {
      if (this.#known.size <= knownMost) break
      this.#known.delete(name)
    }
    return changes
  }
}

const serviceHidden =
  "Without service.read for all namespaces, the key cannot see a pause of the service, and times are by the clock of this machine."

/** What is due, and what has ended since. A list over all namespaces cannot have delivered and cancelled timers. */
const listsOf = (namespace: string, fromMs: number | undefined) => {
  const states =
    namespace === everyNamespace ? (["dead"] as const) : (["delivered", "cancelled", "dead"] as const)
  const since = fromMs === undefined ? {} : { from: new Date(Math.max(0, fromMs - overlapMs)).toISOString() }
  return [
    { ...scopeFields(namespace), limit: dueMost },
    ...states.map((state) => ({ ...scopeFields(namespace), state, ...since, limit: outcomesMost })),
  ]
}

/** The latest end that was seen stands for the time of a service whose clock the key may not read. */
const latestOf = (finished: ReadonlyArray<WatchedTimer>, beforeMs: number | undefined): number | undefined =>
  finished.reduce<number | undefined>(
    (latestMs, { finishedAt = 0 }) => Math.max(latestMs ?? 0, finishedAt),
    beforeMs,
  )

/** An arming that was delivered and armed again has a fireId of its own. */
const outcomeName = ({ fireId, state, finishedAt }: WatchedTimer): string =>
  `${fireId} ${state} ${finishedAt}`

export const dueAt = ({ fireAt, executeAt }: WatchedTimer): number => fireAt ?? executeAt
