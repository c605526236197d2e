// Decides which due timer's attempt starts next, and runs it.
//
// Namespaces are treated fairly: they take turns, one attempt each (NamespaceTurns.ts). The number of attempts in
// flight is limited in total, per namespace, and within it per host. A namespace may have at most as many attempts as
// there are free places, so that the next namespace finds room even if many attempts hang. If a host is full or its
// breaker is open, its timers are parked, and timers for other hosts of the namespace continue. Within a namespace
// timers start in due order. A paused namespace takes no turns until the terms change. Hosts that do not answer have
// their own slots (Slots.ts). Timers for hosts that egress rules refuse wait without an attempt (RefusedTimers.ts).
import { Exit } from "effect"
import { hostEvidenceOf, isAttempted } from "../../domain/Delivery.ts"
import { hasExpired } from "../../domain/pausedTime.ts"
import type { Target } from "../../domain/Timer.ts"
import type { Entry } from "../window/Entry.ts"
import { AttemptSlots } from "./AttemptSlots.ts"
import { attemptOf, noteSent } from "./attemptOf.ts"
import type { DispatchLoad } from "./DispatcherLimits.ts"
import type { DispatcherParts, OpenBreaker } from "./DispatcherParts.ts"
import { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import { abandoned, deliveryOf } from "./deliveryOf.ts"
import type { Flight } from "./Flight.ts"
import { NamespaceTurns } from "./NamespaceTurns.ts"
import { OpenBreakers } from "./OpenBreakers.ts"
import { RefusedTimers } from "./RefusedTimers.ts"
import type { SlotClass } from "./Slots.ts"
import { StartPace } from "./StartPace.ts"

/** The most hosts to remember because of their breakers, over all namespaces. */
const hostsAtMost = 10_000

export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #namespaces = new Map<string, NamespaceQueue>()
  /** Namespaces with ready timers, in the order of their turns. */
  readonly #turns = new NamespaceTurns()
  /** Namespaces that may start nothing by the terms. */
  readonly #resting = new Set<NamespaceQueue>()
  /** Hosts whose timers wait for a subscriber, a handler or a key. */
  readonly #absent = new Map<HostQueue, NamespaceQueue>()
  readonly #open = new OpenBreakers()
  /** Timers whose host the egress rules refuse. */
  readonly refused: RefusedTimers
  readonly #flights = new Set<Flight>()
  readonly #slots: AttemptSlots
  readonly #pace: StartPace
  #hostCount = 0
  /** Idle hosts are forgotten when there are this many. */
  #forgetAt = hostsAtMost
  #unsettled = 0
  #isPumping = false
  #isStopped = false

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.refused = new RefusedTimers({
      ...parts,
      monotonicMs: this.#monotonicMs,
      hasExpired: (entry) => this.#hasExpired(entry),
      unpark: (namespace, host) => this.#unpark(namespace, host),
      makeReady: (namespace, entry) => this.#makeReady(namespace, entry),
      pump: () => this.pump(),
    })
    this.#slots = new AttemptSlots(parts.limits, () => this.#monotonicMs())
    const { freshNew } = parts.limits
    this.#pace = new StartPace({ ...parts, freshNew, nowMs: this.#monotonicMs, goOn: () => this.#pump() })
  }

  get inFlight(): number {
    return this.#flights.size
  }

  /** The start times of running attempts, by fireId. */
  runningSince(): ReadonlyMap<string, number> {
    return new Map([...this.#flights].map(({ entry, startedAt }) => [entry.fireId, startedAt]))
  }

  /** Attempts to silent hosts. */
  get slowInFlight(): number {
    return this.#slots.slowCount
  }

  get openBreakers(): number {
    return this.#open.size
  }

  get readyCount(): number {
    let count = 0
    for (const namespace of this.#namespaces.values()) {
      count += namespace.ready.size
      for (const { parked, toPostpone } of namespace.hosts.values()) count += parked.size + toPostpone.size
    }
    return count
  }

  submit(entries: ReadonlyArray<Entry>): void {
    for (const entry of entries) {
      const namespace = this.#namespaceOf(entry)
      namespace.ready.push(entry)
      this.#turns.add(namespace)
    }
  }

  /** The entry was cancelled, moved or dropped before its attempt started. */
  withdraw(entry: Entry): void {
    const namespace = this.#namespaceOf(entry)
    const host = namespace.hosts.get(this.#hostNameOf(entry))
    if (namespace.ready.remove(entry)) this.#moveUp(namespace, entry)
    else if (!host?.parked.remove(entry)) host?.toPostpone.remove(entry)
    this.refused.noteLeft(entry)
    this.#tidy(namespace, host)
  }

  /** There may be a new subscriber, handler or key. Timers that waited for it take their turn. */
  noteArrival(): void {
    for (const [host, namespace] of this.#absent) {
      if (host.isAbsent(this.#parts.wall.now())) continue
      this.#absent.delete(host)
      this.#unpark(namespace, host)
    }
    this.pump()
  }

  /** The terms have changed, so resting namespaces may start again. */
  noteTerms(): void {
    for (const namespace of this.#resting) this.#turns.add(namespace)
    this.#resting.clear()
    this.#open.expectProbeNow()
    this.pump()
  }

  /** Hosts that failed too often in a row, at most `limit`. */
  breakers(limit: number): ReadonlyArray<OpenBreaker> {
    return this.#open.list(limit, this.#monotonicMs())
  }

  /** Closes the breakers of the host, and returns how many. */
  closeBreakers(name: string): number {
    const closed = this.#open.named(name)
    for (const [host, namespace] of closed) {
      host.breaker.succeeded()
      this.#open.forget(host)
      this.#unpark(namespace, host)
      this.#tidy(namespace, host)
    }
    this.pump()
    return closed.length
  }

  /** The current load, which explains why a due timer has not started. */
  get load(): DispatchLoad {
    const { limits } = this.#parts
    const inFlight = limits.inFlight - this.#slots.room
    return { limits, inFlight, unsettled: this.#unsettled, isStopped: this.#isStopped }
  }

  /** The queue of a namespace, for reading only. */
  queueOf(namespace: string): NamespaceQueue | undefined {
    return this.#namespaces.get(namespace)
  }

  /** Whether a host of the namespace has taken an attempt. */
  knows(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.isKnown ?? this.#slots.standings.knows(namespace)
  }

  /** How many attempts of the namespace the terms allow on this node at once. */
  mostInFlightOf(namespace: string): number {
    return this.#parts.terms.mostInFlight(namespace)
  }

  /** The host by which the attempts of a target are counted within a namespace. */
  hostNameOf(target: Target): string {
    return this.#parts.deliverers.get(target.type)?.hostOf(target) ?? target.type
  }

  /** How many slots there are of a class. */
  mostSlots(slotClass: SlotClass): number {
    return this.#slots.most(slotClass)
  }

  /** Starts no more attempts. */
  stop(): void {
    this.#isStopped = true
  }

  /** Starts as many attempts as the limits allow. The loops call it at least every second. */
  pump(): void {
    this.#slots.noteSilent()
    this.#pump()
    if (!this.#isStopped) this.#slots.abandonSilent(this.#turns)
  }

  #pump(): void {
    if (this.#isPumping || this.#isStopped || !this.#pace.isOpen) return
    this.#isPumping = true
    try {
      this.#startSome()
    } finally {
      this.#isPumping = false
    }
  }

  #startSome(): void {
    if (this.#open.size > 0) this.#releaseProbes()
    this.refused.release()
    this.#slots.releaseWaiters((host, namespace) => this.#unpark(namespace, host))
    this.#turns.beginRound()
    while (this.#pace.isOpen && this.#hasRoom()) {
      const namespace = this.#turns.take(this.#pace.mayStartNew())
      if (namespace === undefined) break
      const most = this.#parts.terms.mostInFlight(namespace.name)
      if (most === 0) {
        this.#resting.add(namespace)
        continue
      }
      const { isKnown } = namespace
      const hasStarted = this.#startNextOf(namespace, most)
      if (hasStarted) this.#pace.started(!isKnown)
      if (namespace.ready.size === 0) this.#tidy(namespace, undefined)
      else if (hasStarted) this.#turns.add(namespace)
      else this.#turns.addIdle(namespace)
    }
  }

  #hasRoom(): boolean {
    return this.#slots.room > 0 && this.#unsettled < this.#parts.limits.unsettled
  }

  #startNextOf(namespace: NamespaceQueue, most: number): boolean {
    const { limits } = this.#parts
    const { inFlight, slots } = namespace
    if (inFlight >= Math.min(most, limits.inFlightPerNamespace)) return false
    if (inFlight - slots.slow >= this.#slots.room) return false
    while (this.#pace.isOpen) {
      const entry = namespace.ready.peek()
      if (entry === undefined || !this.#pace.maySend(entry.timer.payload)) return false
      namespace.ready.remove(entry)
      this.#pace.looked()
      const { home } = entry
      if (home.window.isHeld(entry.uuid)) {
        home.window.holdBack(entry)
        this.#moveUp(namespace, entry)
        continue
      }
      // The clock may have been set back since the entry was due.
      const nowMs = this.#parts.wall.now()
      if (nowMs < entry.fireAt || !home.mayStart()) {
        home.window.putBack(entry)
        this.#moveUp(namespace, entry)
        continue
      }
      const host = this.#hostOf(namespace, entry)
      const refused = this.refused.hold(namespace, host, entry, nowMs)
      if (refused === "waits") continue
      if (refused === "postponed") return true
      if (host.inFlight >= limits.inFlightPerHost || !this.#isAllowed(host)) {
        host.parked.push(entry)
        if (host.isAbsent(nowMs)) this.#absent.set(host, namespace)
        this.#open.expectProbe(host)
        continue
      }
      const slotClass = this.#slots.find(namespace, host)
      if (slotClass === undefined) {
        host.parked.push(entry)
        continue
      }
      this.#start(namespace, host, entry, nowMs, slotClass)
      return true
    }
    return false
  }

  #start(
    namespace: NamespaceQueue,
    host: HostQueue,
    entry: Entry,
    startedAt: number,
    slotClass: SlotClass,
  ): void {
    const parts = this.#parts
    const { timer, home } = entry
    home.window.start(entry)
    this.#pace.sent(timer.payload)
    this.#unsettled++
    const onStored = () => {
      this.#unsettled--
      home.window.noteStored()
      this.#pump()
    }
    if (timer.spec.expireAfterMs !== undefined && this.#hasExpired(entry)) {
      parts.expire(entry, onStored)
      this.#moveUp(namespace, entry)
      return
    }
    const flight: Flight = { entry, attempt: timer.attempts + 1, startedAt, sentAt: undefined }
    entry.startedAt = startedAt
    if (parts.events?.isHeard === true) parts.events.started(timer, startedAt)
    this.#flights.add(flight)
    namespace.inFlight++
    host.inFlight++
    const slot = this.#slots.take(namespace, host, slotClass)
    const isProbe = host.breaker.started()
    const fresh = namespace.isKnown ? undefined : this.#pace.begin()
    this.refused.noteStart(host.name)
    const onSent = () => noteSent(parts, flight)
    slot.end = parts.run(attemptOf(parts, flight, onSent), (exit) => {
      this.#flights.delete(flight)
      if (fresh !== undefined) this.#pace.end(fresh)
      namespace.inFlight--
      host.inFlight--
      const isAbandoned = slot.isAbandoned && Exit.hasInterrupts(exit)
      const delivery = isAbandoned ? abandoned : deliveryOf(exit)
      const wasSent = flight.sentAt !== undefined
      const evidence = hostEvidenceOf(delivery, wasSent)
      this.#slots.release(namespace, host, slot, evidence)
      host.breaker.ended(evidence, isProbe, this.#monotonicMs)
      // An attempt that could not send anything is late until its end.
      if (isAttempted(delivery)) onSent()
      // The timer waits again and has used no attempt. It must not die because others needed the slot.
      const isTakenBack = isAbandoned && !entry.isSuperseded
      if (isTakenBack) {
        parts.metrics.abandoned()
        home.window.takeBack(entry)
        host.parked.push(entry)
      }
      this.#open.note(namespace, host)
      const outcome = this.refused.judged(namespace, host, flight, delivery, wasSent)
      this.#unpark(namespace, host)
      this.#tidy(namespace, host)
      if (outcome !== undefined && !isTakenBack) parts.settle(flight, outcome, onStored)
      else onStored()
      parts.spans?.ended(flight, delivery, isTakenBack)
      this.#pump()
    })
  }

  #makeReady(namespace: NamespaceQueue, entry: Entry): void {
    this.refused.noteLeft(entry)
    namespace.ready.push(entry)
    this.#turns.add(namespace)
  }

  #hasExpired({ timer }: Entry): boolean {
    const { wall, terms } = this.#parts
    return hasExpired(timer, wall.now(), terms.pausesOf(timer.namespace))
  }

  /** The host has free places, so its earliest parked timers take their turn again. */
  #unpark(namespace: NamespaceQueue, host: HostQueue): void {
    if (!this.#isAllowed(host) || this.refused.isClosed(host.name)) return
    const isOneByOne =
      host.breaker.isOpen || host.waitsFor !== undefined || this.refused.refusalOf(host.name) !== undefined
    const free = isOneByOne ? 1 : this.#parts.limits.inFlightPerHost - host.inFlight
    for (let count = 0; count < free; count++) {
      const entry = host.parked.pop()
      if (entry === undefined) break
      this.#makeReady(namespace, entry)
    }
  }

  /** The entry left without an attempt. Parked timers of its host move up, because nothing else would start them. */
  #moveUp(namespace: NamespaceQueue, entry: Entry): void {
    const host = namespace.hosts.get(this.#hostNameOf(entry))
    if (host !== undefined && host.parked.size > 0) this.#unpark(namespace, host)
  }

  #releaseProbes(): void {
    this.#open.releaseDue(
      this.#monotonicMs(),
      (namespace) => this.#resting.has(namespace),
      (namespace, host) => this.#unpark(namespace, host),
    )
  }

  #namespaceOf(entry: Entry): NamespaceQueue {
    const name = entry.timer.namespace
    let namespace = this.#namespaces.get(name)
    if (namespace === undefined) {
      namespace = new NamespaceQueue(name, this.knows(name))
      this.#namespaces.set(name, namespace)
    }
    return namespace
  }

  #hostNameOf(entry: Entry): string {
    entry.host ??= this.hostNameOf(entry.timer.spec.target)
    return entry.host
  }

  #hostOf(namespace: NamespaceQueue, entry: Entry): HostQueue {
    const name = this.#hostNameOf(entry)
    let host = namespace.hosts.get(name)
    if (host === undefined) {
      if (this.#hostCount >= this.#forgetAt) {
        this.#forgetIdleHosts()
        // If most hosts have waiting timers, the next search comes later: each search looks at all hosts.
        this.#forgetAt = Math.max(hostsAtMost, Math.ceil(this.#hostCount * 1.25))
        // The namespace may have been forgotten too, because its only timer is the current entry.
        this.#namespaces.set(namespace.name, namespace)
      }
      const { presence, silentAfterMs } = this.#parts.deliverers.get(entry.timer.spec.target.type) ?? {}
      host = new HostQueue(name, this.#parts.limits.breaker, {
        isThere: () => presence?.isThere(namespace.name) ?? true,
        silentAfterMs: this.#slots.silentAfterMs(silentAfterMs),
        standing: this.#slots.standings.of(namespace.name, name),
      })
      namespace.hosts.set(name, host)
      this.#hostCount++
    }
    return host
  }

  /** Removes an idle host and an idle namespace, except for hosts whose failures must be remembered. */
  #tidy(namespace: NamespaceQueue, host: HostQueue | undefined): void {
    if (namespace.ready.size > 0) {
      if (host !== undefined) this.#forgetIfIdle(namespace, namespace.keep(host))
      return
    }
    this.#forgetIfIdle(namespace, namespace.keep(undefined))
    this.#forgetIfIdle(namespace, host)
    this.#turns.delete(namespace)
    this.#resting.delete(namespace)
    if (namespace.inFlight === 0 && namespace.hosts.size === 0) this.#namespaces.delete(namespace.name)
  }

  #forgetIfIdle(namespace: NamespaceQueue, host: HostQueue | undefined): void {
    if (host?.isIdle && host.breaker.isAtRest) this.#forgetHost(namespace, host)
  }

  #forgetIdleHosts(): void {
    for (const namespace of this.#namespaces.values()) {
      for (const host of namespace.hosts.values()) if (host.isIdle) this.#forgetHost(namespace, host)
      this.#tidy(namespace, undefined)
    }
  }

  #forgetHost(namespace: NamespaceQueue, host: HostQueue): void {
    if (namespace.hosts.get(host.name) !== host) return
    namespace.hosts.delete(host.name)
    this.#open.forget(host)
    this.#absent.delete(host)
    this.#slots.waiters.forget(host)
    this.#hostCount--
  }

  #isAllowed({ breaker, isThere }: HostQueue): boolean {
    return isThere() && (!breaker.isOpen || breaker.allows(this.#monotonicMs()))
  }

  readonly #monotonicMs = (): number => Number(this.#parts.clock.monotonicTimeNanosUnsafe() / 1_000_000n)
}
