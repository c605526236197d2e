// How much the dispatcher does before the thread does other work. Without a limit, one call of the dispatcher could hold the
// thread for a tenth of a second: a commit may store the outcomes of a thousand attempts, and each of them makes room for
// another; and if the slots are full, one call could park the timers of tens of thousands of namespaces.
import type { NewcomerPace } from "./NewcomerPace.ts"
import { PayloadPace } from "./PayloadPace.ts"

/** One start takes up to 0.1 ms. */
const startsAtOnce = 100
/**
 * New namespaces may start fewer, because nobody knows how many of them there are. Their attempts also end at about this
 * pace, so that known namespaces find the thread free every few milliseconds.
 */
const newStartsAtOnce = 10
/** An attempt of a new namespace is fresh for this long, or until it ends. */
const freshMs = 25
/** A timer that is looked at starts, is parked or goes back. One look takes up to 0.01 ms. */
const looksAtOnce = 400

export interface StartPaceParts {
  /** Calls the task when the thread has done other work that waits. */
  readonly soon: (task: () => void) => void
  readonly after: (delayMs: number, task: () => void) => void
  /** Monotonic. */
  readonly nowMs: () => number
  /** Is called later, if what was allowed so far was not enough. */
  readonly goOn: () => void
  /**
   * The most fresh attempts of new namespaces. If there were more, they could all end in the same turn, and the requests
   * of known namespaces would wait behind theirs in the runtime.
   */
  readonly freshNew: number
  /** Absent: new namespaces start as fast as the other limits allow. */
  readonly newcomers?: NewcomerPace
}

/** An attempt of a new namespace that has just started. */
export interface FreshStart {
  readonly startedMs: number
}

export class StartPace {
  readonly #parts: StartPaceParts
  #starts = startsAtOnce
  #newStarts = newStartsAtOnce
  #looks = looksAtOnce
  #isWaiting = false
  /** In the order of their starts. */
  readonly #fresh = new Set<FreshStart>()
  #isWaitingForFresh = false
  #isWaitingForAllowance = false
  readonly #payloads: PayloadPace

  constructor(parts: StartPaceParts) {
    this.#parts = parts
    this.#payloads = new PayloadPace(parts.nowMs)
  }

  /** Whether any timer may start in this turn. */
  get isOpen(): boolean {
    return this.#starts > 0 && this.#looks > 0
  }

  /** Whether a timer of a new namespace may start now. If not, `goOn` is called when it may, or an attempt ends before. */
  mayStartNew(): boolean {
    if (this.#newStarts <= 0) return false
    const { newcomers } = this.#parts
    if (newcomers?.mayStart() === false) {
      this.#goOnAfter(newcomers.nextInMs)
      return false
    }
    if (this.#fresh.size < this.#parts.freshNew) return true
    const nowMs = this.#parts.nowMs()
    for (const fresh of this.#fresh) {
      if (nowMs - fresh.startedMs < freshMs) break
      this.#fresh.delete(fresh)
    }
    if (this.#fresh.size < this.#parts.freshNew) return true
    this.#waitForFresh(nowMs)
    return false
  }

  looked(): void {
    if (--this.#looks === 0) this.#wait()
  }

  started(isNew: boolean): void {
    this.#starts--
    if (isNew) {
      this.#newStarts--
      this.#parts.newcomers?.started()
    }
    if (this.#starts === 0 || this.#newStarts === 0) this.#wait()
  }

  /** Whether a timer with this payload may start now. If not, `goOn` is called when it may. */
  maySend(payload: Uint8Array | undefined): boolean {
    if (payload === undefined || this.#payloads.mayStart(payload.byteLength)) return true
    this.#goOnAfter(this.#payloads.nextInMs)
    return false
  }

  sent(payload: Uint8Array | undefined): void {
    if (payload !== undefined) this.#payloads.started(payload.byteLength)
  }

  /** An attempt of a new namespace is sent. */
  begin(): FreshStart {
    const fresh = { startedMs: this.#parts.nowMs() }
    this.#fresh.add(fresh)
    return fresh
  }

  end(fresh: FreshStart): void {
    this.#fresh.delete(fresh)
  }

  #wait(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#parts.soon(() => {
      this.#isWaiting = false
      this.#starts = startsAtOnce
      this.#newStarts = newStartsAtOnce
      this.#looks = looksAtOnce
      this.#parts.goOn()
    })
  }

  #waitForFresh(nowMs: number): void {
    const [oldest] = this.#fresh
    if (this.#isWaitingForFresh || oldest === undefined) return
    this.#isWaitingForFresh = true
    this.#parts.after(oldest.startedMs + freshMs - nowMs, () => {
      this.#isWaitingForFresh = false
      this.#parts.goOn()
    })
  }

  /** The allowances of newcomers and of large payloads are renewed at the same times. */
  #goOnAfter(delayMs: number): void {
    if (this.#isWaitingForAllowance) return
    this.#isWaitingForAllowance = true
    this.#parts.after(delayMs, () => {
      this.#isWaitingForAllowance = false
      this.#parts.goOn()
    })
  }
}
