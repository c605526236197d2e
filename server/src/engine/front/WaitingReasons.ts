// Why due timers of this node's shards have not started. The reason is computed from memory on request, so that firing
// does not get slower. If there are several reasons, the answer is the one that an operator must remove first: while
// the service is paused, an open breaker does not matter.
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
import { largePayloadBytes, payloadBytesPerSecond } from "../dispatch/PayloadPace.ts"
import type { SlotClass } from "../dispatch/Slots.ts"
import type { NamespaceDirectory } from "../namespaces/NamespaceDirectory.ts"
import type { Entry } from "../window/Entry.ts"
import type { Window } from "../window/Window.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"

export interface WaitingReasonsParts {
  readonly own: Pick<OwnWrites, "loopOf">
  readonly dispatcher: Pick<Dispatcher, "load" | "queueOf" | "mostInFlightOf" | "mostSlots" | "refused">
  readonly directory: Pick<NamespaceDirectory["Service"], "of" | "service">
  readonly deliverers: Deliverers["Service"]
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
}

export class WaitingReasons {
  readonly #parts: WaitingReasonsParts
  /** When this node started. Nothing could start here earlier. */
  readonly #startedMs: number

  constructor(parts: WaitingReasonsParts) {
    this.#parts = parts
    this.#startedMs = parts.wall.now()
  }

  /** Why a timer of this node waits; `undefined` if it is not due, in flight, about to start, or of another node. */
  of(asked: AskedTimer): Waiting | undefined {
    const nowMs = this.#parts.wall.now()
    if (asked.fireAt > nowMs) return undefined
    const window = this.#parts.own.loopOf(asked)?.window
    if (window === undefined) return undefined
    const entry = window.entryOf(asked.uuid)
    if (entry !== undefined && !isWaitingToStart(entry, asked, nowMs)) {
      return isPostponed(entry, asked, nowMs) ? (this.ofPause(asked) ?? this.#ofRefusal(asked)) : undefined
    }
    const namespace = this.#parts.dispatcher.queueOf(asked.namespace)
    const host = namespace?.hosts.get(asked.host)
    return (
      this.ofPause(asked) ??
      this.#ofAbsence(asked, host) ??
      this.#ofRefusal(asked) ??
      this.#ofBreaker(asked, host, nowMs) ??
      this.#ofCongestion(asked, { window, entry, namespace, host })
    )
  }

  /** Whether the timer is due and paused. Every node knows this for all timers. */
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
    const { pausedSinceMs, pauseReason } = directory.of(asked.namespace).settings
    if (pausedSinceMs === undefined) return undefined
    return {
      reason: "paused",
      sinceMs: Math.max(pausedSinceMs, dueAt(asked)),
      detail: `The namespace ${asked.namespace} is paused.${reasonGiven(pauseReason)}`,
    }
  }

  #ofRefusal({ host, fireAt }: AskedTimer): Waiting | undefined {
    const refusal = this.#parts.dispatcher.refused.refusalOf(host)
    if (refusal === undefined) return undefined
    const detail = `${refusal.detail}. Nothing is sent and no attempt is used. The service checks again every 5 minutes and after a start.`
    return { reason: "egressRefused", sinceMs: Math.max(refusal.sinceMs, fireAt), detail }
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
      detail: `${host.name} failed ${failures} times in a row, so the service sends nothing to it for now. ${next}`,
    }
  }

  #ofCongestion(asked: AskedTimer, place: Place): Waiting | undefined {
    const detail = this.#parts.dispatcher.load.isStopped ? undefined : this.#fullText(asked, place)
    if (detail === undefined) return undefined
    const lastPause = this.#parts.directory.of(asked.namespace).pauses.at(-1)
    // Before that the timer waited for another reason.
    const sinceMs = Math.max(dueAt(asked), this.#startedMs, lastPause?.untilMs ?? 0)
    return { reason: "congested", sinceMs, detail }
  }

  /** The limit that is reached; `undefined` if there is none. */
  #fullText(asked: AskedTimer, { window, entry, namespace, host }: Place): string | undefined {
    const { dispatcher } = this.#parts
    if (entry === undefined) {
      return window.wantsRoom && isBefore(window.horizonFor(asked.namespace), asked) ? backlogText : undefined
    }
    if (entry.state !== "ready" || namespace === undefined) return undefined
    const { limits, inFlight, unsettled } = dispatcher.load
    if (inFlight >= limits.inFlight) {
      return `This node runs ${deliveries(limits.inFlight)}, which is its limit (TIMER_MAX_IN_FLIGHT).`
    }
    if (unsettled >= limits.unsettled) {
      return `The store is slow: the results of ${unsettled} deliveries wait to be stored.`
    }
    if (host?.waitsFor !== undefined) return this.#slotText(host, host.waitsFor)
    const most = dispatcher.mostInFlightOf(asked.namespace)
    if (namespace.inFlight >= most) {
      return `The namespace ${asked.namespace} has ${deliveries(namespace.inFlight)} in flight on this node, which is the limit by its maxInFlight.`
    }
    if (namespace.inFlight >= limits.inFlightPerNamespace) {
      return `The namespace ${asked.namespace} has ${deliveries(namespace.inFlight)} in flight, which is the limit of a namespace (TIMER_MAX_IN_FLIGHT_PER_NAMESPACE).`
    }
    if (namespace.inFlight >= limits.inFlight - inFlight) {
      return `The namespace ${asked.namespace} has ${namespace.inFlight} of ${inFlight} deliveries in flight. The node keeps the rest of its ${limits.inFlight} free for other namespaces (TIMER_MAX_IN_FLIGHT).`
    }
    if (host !== undefined && host.inFlight >= limits.inFlightPerHost) {
      return `${deliveries(host.inFlight)} to ${host.name} ${host.inFlight === 1 ? "is" : "are"} in flight, which is the limit of a namespace for one host (TIMER_MAX_IN_FLIGHT_PER_HOST).`
    }
    if ((entry.timer.payload?.byteLength ?? 0) > largePayloadBytes) return largePayloadText
    return namespace.isKnown ? undefined : newcomerText
  }

  #slotText({ name }: HostQueue, slotClass: SlotClass): string {
    const most = deliveries(this.#parts.dispatcher.mostSlots(slotClass))
    return slotClass === "slow"
      ? `${name} did not answer its last attempt for 5s, so the timer waits for a place among slow hosts. This node runs at most ${most} to such hosts at once (TIMER_SLOW_SHARE), and keeps some places free for other namespaces.`
      : `${name} has not answered an attempt yet, so the timer waits for a place among such hosts. This node runs at most ${most} to them at once, and keeps some places free for other namespaces.`
  }
}

const deliveries = (count: number): string => (count === 1 ? "1 delivery" : `${count} deliveries`)

interface Place {
  readonly window: Window
  readonly entry: Entry | undefined
  readonly namespace: NamespaceQueue | undefined
  readonly host: HostQueue | undefined
}

/** The entry may have changed since the timer was read: it may have started, or wait for a retry. */
const isWaitingToStart = (entry: Entry, asked: AskedTimer, nowMs: number): boolean =>
  entry.fireId === asked.fireId &&
  entry.fireAt <= nowMs &&
  entry.state !== "inFlight" &&
  entry.state !== "settling"

/** The timer was due, and the store has a later fireAt for it, because it could not be sent. */
const isPostponed = (entry: Entry, asked: AskedTimer, nowMs: number): boolean =>
  entry.fireId === asked.fireId &&
  entry.state === "waiting" &&
  entry.timer.attempts === 0 &&
  entry.timer.executeAt <= nowMs

/** A timer that was armed after its fireAt is due from the moment when it was armed. */
const dueAt = ({ fireAt, updatedAt }: Pick<AskedTimer, "fireAt" | "updatedAt">): number =>
  Math.max(fireAt, updatedAt)

const largePayloadText = `All deliveries of this node together send at most ${payloadBytesPerSecond / (1024 * 1024)} MiB of payloads above ${largePayloadBytes / 1024} KiB in a second, so that they do not delay others.`

const newcomerText =
  "The namespace has had no delivery since this node started. Such namespaces take turns, and this node starts few of their deliveries at once, so that they do not delay others."

const backlogText =
  "The namespace has more due timers than this node keeps in memory. The node reads the next ones when earlier ones finish."

const servicePauseText = ({ kind, reason }: ServicePause): string => {
  const why = reasonGiven(reason)
  return kind === "restored"
    ? `The store was restored from a backup. All firing is paused until an operator decides about overdue timers.${why}`
    : `All firing is paused.${why}`
}

const reasonGiven = (reason: string | undefined): string =>
  reason === undefined ? "" : ` The reason given: ${reason}.`

const secondsText = (ms: number): string => formatDuration(Math.max(1, Math.ceil(ms / 1_000)) * 1_000)
