// The hosts that the egress rules refused, and the timers that wait for them.
//
// A refusal costs no attempt: the timer waits until the host is judged again. One judgement counts for all timers of the
// host, in all namespaces, so many waiting timers cause one lookup every five minutes. After a start nothing is known,
// so every host is judged at once.
//
// Refused timers must not take the room of others. A few of them stay in memory, where they are judged first. The others
// are postponed: the store gets a later fireAt, so the window reads past them. All timers of a congested namespace are
// postponed, because the window reads the next ones only when it has few due timers of such a namespace. The times are
// spread, because a million timers that come back at once would be a backlog for the other timers of their namespace.
import type { Entry } from "../window/Entry.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"

export interface RefusalTerms {
  /** How long a judgement counts. */
  readonly judgeAgainMs: number
  /** Refused timers in memory: in all, per namespace, and their bytes. */
  readonly keptMost: number
  readonly keptPerNamespaceMost: number
  readonly keptBytesMost: number
  /** Postponements that may wait for the store at once. */
  readonly postponingMost: number
  /** Hosts whose refusal is remembered. Beyond this, the host that was judged first is forgotten and judged again. */
  readonly hostsMost: number
}

export const refusalTerms: RefusalTerms = {
  judgeAgainMs: 300_000,
  keptMost: 1_000,
  keptPerNamespaceMost: 100,
  keptBytesMost: 8 * 1024 * 1024,
  postponingMost: 64,
  hostsMost: 10_000,
}

export interface HostRefusal {
  /** Which address is refused, and by which setting. */
  readonly detail: string
  /** When the host was refused first, by the wall clock. */
  readonly sinceMs: number
  /** In monotonic milliseconds. */
  readonly judgeAtMs: number
  /** An attempt is running that judges the host again. */
  isBeingJudged: boolean
  /** How many timers were postponed since the last judgement. */
  postponed: number
}

/** The postponed timers of a host come back at this rate, unless there are more than fit into the time of a judgement. */
const postponedPerMs = 2
/** How often the timers in memory are checked. */
const checkEveryMs = 1_000
const minuteMs = 60_000

export class RefusedHosts {
  readonly #terms: RefusalTerms
  /** By the name of the host, in the order of their judgements. */
  readonly #refusals = new Map<string, HostRefusal>()
  /** The refused timers in memory. */
  readonly #kept = new Map<Entry, readonly [HostQueue, NamespaceQueue]>()
  readonly #keptOf = new Map<NamespaceQueue, number>()
  #keptBytes = 0
  #postponing = 0
  /** How many timers were postponed to each minute of the wall clock. */
  readonly #postponedTo = new Map<number, number>()
  #judgeDueMs = Number.POSITIVE_INFINITY
  #checkDueMs = 0

  constructor(terms: RefusalTerms = refusalTerms) {
    this.#terms = terms
  }

  /** No host is refused, and no timer waits. */
  get isIdle(): boolean {
    return this.#refusals.size === 0 && this.#kept.size === 0
  }

  get hosts(): number {
    return this.#refusals.size
  }

  /** How many timers wait. Timers that were postponed and then cancelled count until their time. */
  waitingAt(nowMs: number): number {
    let waiting = this.#kept.size
    for (const [minute, count] of this.#postponedTo) {
      if ((minute + 1) * minuteMs > nowMs) waiting += count
    }
    return waiting
  }

  of(host: string): Readonly<HostRefusal> | undefined {
    return this.#refusals.get(host)
  }

  /** Whether timers of the host must wait. While a judgement is due, one attempt may start. */
  isClosed(host: string, monotonicMs: () => number): boolean {
    if (this.#refusals.size === 0) return false
    const refusal = this.#refusals.get(host)
    return refusal !== undefined && (refusal.isBeingJudged || monotonicMs() < refusal.judgeAtMs)
  }

  /** An attempt of the host starts. If the host was refused, the attempt judges it again. */
  noteStart(host: string): void {
    const refusal = this.#refusals.size === 0 ? undefined : this.#refusals.get(host)
    if (refusal !== undefined) refusal.isBeingJudged = true
  }

  /** The rules refused the host. Returns whether it was not refused before. */
  noteRefused(host: string, detail: string, nowMs: number, monotonicMs: number): boolean {
    const known = this.#refusals.get(host)
    this.#refusals.delete(host)
    for (const oldest of this.#refusals.keys()) {
      if (this.#refusals.size < this.#terms.hostsMost) break
      this.#refusals.delete(oldest)
      this.#judgeDueMs = 0
    }
    const judgeAtMs = monotonicMs + this.#terms.judgeAgainMs
    const sinceMs = known?.sinceMs ?? nowMs
    this.#refusals.set(host, { detail, sinceMs, judgeAtMs, isBeingJudged: false, postponed: 0 })
    this.#judgeDueMs = Math.min(this.#judgeDueMs, judgeAtMs)
    return known === undefined
  }

  /** An attempt reached the host. Returns the queues whose timers waited for that. */
  noteAllowed(host: string): ReadonlyArray<readonly [HostQueue, NamespaceQueue]> {
    if (this.#refusals.size === 0 || !this.#refusals.delete(host)) return []
    return [...new Map([...this.#kept.values()].filter(([{ name }]) => name === host))]
  }

  /** The attempt ended before the host was judged. The next attempt judges it. */
  noteUnjudged(host: string): void {
    const refusal = this.#refusals.size === 0 ? undefined : this.#refusals.get(host)
    if (refusal === undefined) return
    refusal.isBeingJudged = false
    this.#judgeDueMs = 0
  }

  /** Keeps a refused timer in memory, if there is room. The caller puts it into the queue of its host. */
  keep(entry: Entry, host: HostQueue, namespace: NamespaceQueue): boolean {
    const { keptMost, keptPerNamespaceMost, keptBytesMost } = this.#terms
    if (isCongested(entry)) return false
    const ofNamespace = this.#keptOf.get(namespace) ?? 0
    if (this.#kept.size >= keptMost || ofNamespace >= keptPerNamespaceMost) return false
    if (this.#keptBytes + entry.bytes > keptBytesMost) return false
    this.#kept.set(entry, [host, namespace])
    this.#keptOf.set(namespace, ofNamespace + 1)
    this.#keptBytes += entry.bytes
    return true
  }

  /** The timer leaves the queue of its host, for any reason. */
  noteLeft(entry: Entry): void {
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(entry)
    if (kept === undefined) return
    this.#kept.delete(entry)
    this.#keptBytes -= entry.bytes
    const [, namespace] = kept
    const ofNamespace = (this.#keptOf.get(namespace) ?? 1) - 1
    if (ofNamespace === 0) this.#keptOf.delete(namespace)
    else this.#keptOf.set(namespace, ofNamespace)
  }

  /** How many more postponements may wait for the store. */
  get postponingRoom(): number {
    return this.#terms.postponingMost - this.#postponing
  }

  /** A namespace leaves as much room as it uses, so that the next one can postpone its timers too. */
  mayPostpone({ postponing }: NamespaceQueue): boolean {
    return postponing < this.postponingRoom
  }

  /** `endPostponing` must follow when the postponement is stored. */
  beginPostponing(namespace: NamespaceQueue): void {
    this.#postponing++
    namespace.postponing++
  }

  endPostponing(namespace: NamespaceQueue): void {
    this.#postponing--
    namespace.postponing--
  }

  /** By how much a refused timer is postponed: until the next judgement of its host, and some time to spread them. */
  postponedMs({ timer }: Entry, host: string, nowMs: number, monotonicMs: number): number {
    const { judgeAgainMs } = this.#terms
    const refusal = this.#refusals.get(host)
    const judgeInMs = (refusal?.judgeAtMs ?? 0) - monotonicMs
    const earlier = refusal === undefined ? 0 : refusal.postponed++
    const spreadMs = Math.floor(earlier / postponedPerMs) % judgeAgainMs
    // While the host is being judged, the result comes soon.
    const inMs = Math.max(judgeInMs, 1_000) + spreadMs
    // The timer must end in time if it expires first.
    const { expireAfterMs } = timer.spec
    const expiresInMs = expireAfterMs === undefined ? inMs : timer.executeAt + expireAfterMs + 1 - nowMs
    const postponedMs = expiresInMs > 0 ? Math.min(inMs, expiresInMs) : inMs
    this.#notePostponed(nowMs, nowMs + postponedMs)
    return postponedMs
  }

  /** The queues of hosts that must be judged now: one of each host. */
  dueForJudgement(monotonicMs: number): ReadonlyArray<readonly [HostQueue, NamespaceQueue]> {
    if (monotonicMs < this.#judgeDueMs) return []
    this.#judgeDueMs = Number.POSITIVE_INFINITY
    const due = new Map<string, readonly [HostQueue, NamespaceQueue]>()
    for (const place of this.#kept.values()) {
      const [{ name }] = place
      if (!this.isClosed(name, () => monotonicMs)) due.set(name, place)
    }
    for (const [host, { judgeAtMs, isBeingJudged }] of this.#refusals) {
      if (judgeAtMs > monotonicMs) {
        this.#judgeDueMs = judgeAtMs
        break
      }
      // No timer of this host was due for a long time, not even a postponed one.
      const isUnused = !isBeingJudged && !due.has(host)
      if (isUnused && judgeAtMs + 2 * this.#terms.judgeAgainMs < monotonicMs) this.#refusals.delete(host)
    }
    // A judgement that could not start, for example because of a pause, is tried again soon.
    if (due.size > 0) this.#judgeDueMs = Math.min(this.#judgeDueMs, monotonicMs + 1_000)
    return [...due.values()]
  }

  /** The timers that must leave, because they have expired or their namespace is congested. Looks once a second. */
  dueToLeave(
    monotonicMs: number,
    hasExpired: (entry: Entry) => boolean,
  ): ReadonlyArray<readonly [Entry, readonly [HostQueue, NamespaceQueue]]> {
    if (this.#kept.size === 0 || monotonicMs < this.#checkDueMs) return []
    this.#checkDueMs = monotonicMs + checkEveryMs
    return [...this.#kept].filter(([entry]) => isCongested(entry) || hasExpired(entry))
  }

  #notePostponed(nowMs: number, untilMs: number): void {
    const minute = Math.floor(untilMs / minuteMs)
    this.#postponedTo.set(minute, (this.#postponedTo.get(minute) ?? 0) + 1)
    for (const past of this.#postponedTo.keys()) {
      if ((past + 1) * minuteMs <= nowMs) this.#postponedTo.delete(past)
    }
  }
}

const isCongested = ({ home, timer }: Entry): boolean => home.window.excludes(timer.namespace)
