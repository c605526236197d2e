// Why due timers of this node's shards have not started. All of it is worked out from memory when somebody asks, so
// that firing pays nothing for it. Of several reasons the one that an operator must remove first is told: while the
// service is paused, an open breaker does not matter.
import { formatDuration } from "@punctual/api/DurationMs"
import type { Clock } from "effect"
import { isBefore } from "../../domain/DueOrder.ts"
import type { ServicePause } from "../../domain/NamespaceSettings.ts"
import type { Waiting } from "../../domain/Waiting.ts"
import type { Deliverers } from "../../ports/Deliverer.ts"
import type { AskedTimer } from "../../ports/Peers.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import type { HostQueue, NamespaceQueue } from "../dispatch/DispatchQueues.ts"
import type { NamespaceDirectory } from "../namespaces/NamespaceDirectory.ts"
import type { Entry } from "../window/Entry.ts"
import type { Window } from "../window/Window.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"

export interface WaitingReasonsParts {
  readonly own: Pick<OwnWrites, "loopOf">
  readonly dispatcher: Pick<Dispatcher, "load" | "queueOf" | "mostInFlightOf">
  readonly directory: Pick<NamespaceDirectory["Service"], "of" | "service">
  readonly deliverers: Deliverers["Service"]
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
}

export class WaitingReasons {
  readonly #parts: WaitingReasonsParts
  /** Before it nothing could start here. */
  readonly #startedMs: number

  constructor(parts: WaitingReasonsParts) {
    this.#parts = parts
    this.#startedMs = parts.wall.now()
  }

  /** Why a timer of this node's shards waits. Nothing: it is not due, under way, about to start, or not this node's. */
  of(asked: AskedTimer): Waiting | undefined {
    const nowMs = this.#parts.wall.now()
    if (asked.fireAt > nowMs) return undefined
    const window = this.#parts.own.loopOf(asked)?.window
    if (window === undefined) return undefined
    const entry = window.entryOf(asked.uuid)
    if (entry !== undefined && !isWaitingToStart(entry, asked, nowMs)) return undefined
    const namespace = this.#parts.dispatcher.queueOf(asked.namespace)
    const host = namespace?.hosts.get(asked.host)
    return (
      this.ofPause(asked) ??
      this.#ofAbsence(asked, host) ??
      this.#ofBreaker(asked, host, nowMs) ??
      this.#ofCongestion(asked, { window, entry, namespace, host })
    )
  }

  /** Whether the timer is due and paused: every node knows that of all timers. */
  ofPause(asked: Pick<AskedTimer, "namespace" | "fireAt" | "updatedAt">): Waiting | undefined {
    const { directory, wall } = this.#parts
    if (asked.fireAt > wall.now()) return undefined
    const { pause } = directory.service()
    if (pause !== undefined) {
      return {
        reason: "servicePaused",
        sinceMs: Math.max(pause.sinceMs, dueAt(asked)),
        detail: servicePauseText(pause),
      }
    }
    const { pausedSinceMs } = directory.of(asked.namespace).settings
    if (pausedSinceMs === undefined) return undefined
    return {
      reason: "paused",
      sinceMs: Math.max(pausedSinceMs, dueAt(asked)),
      detail: `The namespace ${asked.namespace} is paused.`,
    }
  }

  #ofAbsence(asked: AskedTimer, host: HostQueue | undefined): Waiting | undefined {
    const presence = this.#parts.deliverers.byType.get(asked.targetType)?.presence
    if (presence === undefined || presence.isThere(asked.namespace)) return undefined
    const sinceMs = Math.max(host?.absentSinceMs ?? this.#startedMs, dueAt(asked))
    return { ...presence.absence, sinceMs }
  }

  #ofBreaker(asked: AskedTimer, host: HostQueue | undefined, nowMs: number): Waiting | undefined {
    const openedAtMs = host?.breaker.openedAtMs
    if (host === undefined || openedAtMs === undefined) return undefined
    const monotonicMs = Number(this.#parts.clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const { failures, probeAtMs } = host.breaker
    const next =
      probeAtMs === undefined
        ? "One attempt runs now to test it."
        : `The next attempt starts in ${secondsText(probeAtMs - monotonicMs)}.`
    return {
      reason: "breaker",
      sinceMs: Math.max(nowMs - (monotonicMs - openedAtMs), dueAt(asked)),
      detail: `${host.name} failed ${failures} times in a row, so nothing is sent there for now. ${next}`,
    }
  }

  #ofCongestion(asked: AskedTimer, place: Place): Waiting | undefined {
    const detail = this.#parts.dispatcher.load.isStopped ? undefined : this.#fullText(asked, place)
    if (detail === undefined) return undefined
    const lastPause = this.#parts.directory.of(asked.namespace).pauses.at(-1)
    // Until then it waited for something else.
    const sinceMs = Math.max(dueAt(asked), this.#startedMs, lastPause?.untilMs ?? 0)
    return { reason: "congested", sinceMs, detail }
  }

  /** Which bound is reached, if one is. */
  #fullText(asked: AskedTimer, { window, entry, namespace, host }: Place): string | undefined {
    const { dispatcher } = this.#parts
    if (entry === undefined) {
      return window.wantsRoom && isBefore(window.horizonFor(asked.namespace), asked) ? backlogText : undefined
    }
    if (entry.state !== "ready" || namespace === undefined) return undefined
    const { limits, inFlight, unsettled } = dispatcher.load
    if (inFlight >= limits.inFlight) {
      return `All ${limits.inFlight} deliveries that this node may run at once are running (TIMER_MAX_IN_FLIGHT).`
    }
    if (unsettled >= limits.unsettled) {
      return `The results of ${unsettled} deliveries wait to be stored: the store is slow.`
    }
    const most = dispatcher.mostInFlightOf(asked.namespace)
    if (namespace.inFlight >= most) {
      return `The namespace ${asked.namespace} has ${namespace.inFlight} deliveries in flight on this node, which is all that its maxInFlight allows.`
    }
    if (namespace.inFlight >= limits.inFlightPerNamespace) {
      return `The namespace ${asked.namespace} has ${namespace.inFlight} deliveries in flight, which is all that one namespace may have (TIMER_MAX_IN_FLIGHT_PER_NAMESPACE).`
    }
    if (namespace.inFlight >= limits.inFlight - inFlight) {
      return `The namespace ${asked.namespace} has ${namespace.inFlight} of ${inFlight} deliveries in flight. The rest of the ${limits.inFlight} is kept free for other namespaces (TIMER_MAX_IN_FLIGHT).`
    }
    if (host !== undefined && host.inFlight >= limits.inFlightPerHost) {
      return `${host.inFlight} deliveries to ${host.name} are running, which is all that one host may get from a namespace (TIMER_MAX_IN_FLIGHT_PER_HOST).`
    }
    return undefined
  }
}

interface Place {
  readonly window: Window
  readonly entry: Entry | undefined
  readonly namespace: NamespaceQueue | undefined
  readonly host: HostQueue | undefined
}

/** The entry may have moved on since the timer was read: it was changed, it has started, or it waits for a retry. */
const isWaitingToStart = (entry: Entry, asked: AskedTimer, nowMs: number): boolean =>
  entry.fireId === asked.fireId &&
  entry.fireAt <= nowMs &&
  entry.state !== "inFlight" &&
  entry.state !== "settling"

/** A timer that was armed for the past is due from then on. */
const dueAt = ({ fireAt, updatedAt }: Pick<AskedTimer, "fireAt" | "updatedAt">): number =>
  Math.max(fireAt, updatedAt)

const backlogText =
  "More timers of the namespace are due than this node keeps in memory. It reads the next ones as earlier ones finish."

const servicePauseText = ({ kind, reason }: ServicePause): string => {
  const why = reason === undefined ? "" : ` The reason given: ${reason}.`
  return kind === "restored"
    ? `The store was restored from a backup. All firing is paused until an operator decides about overdue timers.${why}`
    : `All firing is paused.${why}`
}

const secondsText = (ms: number): string => formatDuration(Math.max(1, Math.ceil(ms / 1_000)) * 1_000)
