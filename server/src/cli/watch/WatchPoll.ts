// Polls a service over the public API for `punctual watch`. Each turn is bounded: a few namespaces, and for each one a
// page of the timers due next and a page of the latest outcomes. It counts less often, because counts cost more.
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { ListTimersAnswer } from "@punctual/api/ListTimers"
import { ListNamespacesAnswer, NamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { ServiceAnswer } from "@punctual/api/Service"
import { Effect } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { type ServiceFailure, tryService } from "../client/ServiceClient.ts"

export type WatchedTimer = TimerAnswer["timer"]
type NamespaceView = ListNamespacesAnswer["namespaces"][number]

/** Each namespace costs four calls a turn. */
export const namespacesMost = 8
const dueMost = 10
const outcomesMost = 50
/** Outcomes of the same time do not become visible in order, so each turn reads the last seconds again. */
const overlapMs = 2_000
const countEvery = 5
const knownMost = 10_000
const callsAtOnce = 4

export interface WatchedChange {
  readonly kind: "delivered" | "cancelled" | "dead" | "retry" | "inFlight"
  readonly timer: WatchedTimer
}

export interface Snapshot {
  readonly nowMs: number
  readonly pause: ServiceAnswer["pause"]
  readonly namespaces: ReadonlyArray<NamespaceView>
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
  #namespaces: ReadonlyArray<NamespaceView> = []
  #hasMore = false
  /** The next turn reads the outcomes since this time. */
  #fromMs: number | undefined
  /** The changes that were already reported, oldest first. */
  readonly #known = new Set<string>()

  /** If `asked` is empty, it watches the first namespaces of the service. */
  constructor(service: ServiceAddress, asked: ReadonlyArray<string>) {
    this.#service = service
    this.#asked = asked
  }

  /** One turn. The first turn reports no changes. */
  get next(): Effect.Effect<Snapshot, ServiceFailure> {
    return Effect.gen({ self: this }, function* () {
      const service = yield* this.#call("/service/get", {}, ServiceAnswer)
      if (this.#turns++ % countEvery === 0) yield* this.#count
      const isFirst = this.#fromMs === undefined
      const fromMs = this.#fromMs ?? service.now
      const pages = yield* Effect.forEach(
        this.#namespaces.flatMap(({ namespace }) => [
          { namespace, limit: dueMost },
          ...(["delivered", "cancelled", "dead"] as const).map((state) => ({
            namespace,
            state,
            from: new Date(Math.max(0, fromMs - overlapMs)).toISOString(),
            limit: outcomesMost,
          })),
        ]),
        (fields) =>
          Effect.map(this.#call("/timers/list", fields, ListTimersAnswer), ({ timers, nextCursor }) => ({
            isDue: !("state" in fields),
            timers,
            isCut: nextCursor !== undefined,
          })),
        { concurrency: callsAtOnce },
      )
      const due = pages.flatMap(({ isDue, timers }) => (isDue ? timers : []))
      const finished = pages.flatMap(({ isDue, timers }) => (isDue ? [] : timers))
      const hasMissed = pages.some(({ isDue, isCut, timers }) => !isDue && isCut && this.#hasGap(timers))
      const changes = this.#changesIn(due, finished)
      this.#fromMs = service.now
      return {
        nowMs: service.now,
        pause: service.pause,
        namespaces: this.#namespaces,
        hasMore: this.#hasMore,
        due: due.toSorted((a, b) => dueAt(a) - dueAt(b)).slice(0, dueMost),
        changes: isFirst ? [] : changes,
        hasMissed: !isFirst && hasMissed,
      }
    })
  }

  get #count() {
    return Effect.gen({ self: this }, function* () {
      if (this.#asked.length > 0) {
        this.#namespaces = yield* Effect.forEach(
          this.#asked,
          (namespace) =>
            Effect.map(
              this.#call("/namespaces/get", { namespace }, NamespaceAnswer),
              ({ settings }) => settings,
            ),
          { concurrency: callsAtOnce },
        )
        return
      }
      const { namespaces, nextCursor } = yield* this.#call(
        "/namespaces/list",
        { limit: namespacesMost },
        ListNamespacesAnswer,
      )
      this.#namespaces = namespaces
      this.#hasMore = nextCursor !== undefined
    })
  }

  #call<A>(
    path: string,
    fields: Readonly<Record<string, unknown>>,
    answer: Parameters<typeof tryService<A>>[1]["answer"],
  ): Effect.Effect<A, ServiceFailure> {
    return Effect.map(tryService(this.#service, { path, fields, answer }), ({ value }) => value)
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

/** An arming that was delivered and armed again has a fireId of its own. */
const outcomeName = ({ fireId, state, finishedAt }: WatchedTimer): string =>
  `${fireId} ${state} ${finishedAt}`

export const dueAt = ({ fireAt, executeAt }: WatchedTimer): number => fireAt ?? executeAt
