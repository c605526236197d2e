// A window that a test fills by hand, to a state that the engine would reach only after a long time: some timers in
// memory, some attempts running, horizons at different places. The test then asks what the window would read next.
import { expect } from "bun:test"
import type { Timer } from "../src/domain/Timer.ts"
import type { Home } from "../src/engine/window/Entry.ts"
import { type Load, Window, type WindowLimits } from "../src/engine/window/Window.ts"
import { type SampleTimer, sampleTimer } from "./timers.ts"

export class WindowRig {
  readonly window: Window
  nowMs = 100_000

  constructor(limits: Partial<WindowLimits> = {}) {
    const rig = this
    const home: Home = {
      shard: 0,
      epoch: 1,
      get window() {
        return rig.window
      },
      mayStart: () => true,
      readAgain: () => {},
    }
    this.window = new Window(
      home,
      { timers: 40, bytes: 1 << 24, page: 10, lookAheadMs: 60_000, ...limits },
      { withdraw: () => {}, wake: () => {}, isKnown: () => true },
    )
  }

  /** Makes this many timers of a namespace, due after this time. */
  timers(namespace: string, count: number, inMs: number, rest: SampleTimer = {}): ReadonlyArray<Timer> {
    return Array.from({ length: count }, () =>
      sampleTimer({ namespace, executeAt: this.nowMs + inMs, ...rest }),
    )
  }

  /** Puts the timers into memory, wherever the horizon is. */
  hold(timers: ReadonlyArray<Timer>): ReadonlyArray<Timer> {
    const read = this.window.beginRead()
    for (const timer of timers) expect(this.window.rescue(timer, read)).toBe(true)
    this.window.endRead(read)
    return timers
  }

  /** Due timers are ready from now on. */
  takeDue(): void {
    this.window.takeDue(this.nowMs, Number.POSITIVE_INFINITY)
  }

  /** Excludes a namespace, because it has too many due timers. Their attempts run, so they take no room. */
  exclude(namespace: string): ReadonlyArray<Timer> {
    const due = this.hold(this.timers(namespace, 11, -1))
    for (const entry of this.window.takeDue(this.nowMs, Number.POSITIVE_INFINITY)) this.window.start(entry)
    expect(this.window.excludedNamespaces).toContain(namespace)
    return due
  }

  /** Removes the timers, as if they had ended. */
  forget(timers: ReadonlyArray<Timer>): void {
    for (const { uuid } of timers) this.window.forget(uuid)
  }

  /** Loads these rows as the next page of the main horizon. They are the last ones if the page is not full. */
  load(rows: ReadonlyArray<Timer>): void {
    const load = this.window.beginLoad(this.nowMs)
    if (load === undefined) throw new Error("the window reads nothing")
    this.window.finishLoad(load, { timers: rows, isLast: rows.length < load.limit })
  }

  /** Begins the next page of an excluded namespace, as the window asks for it. */
  beginNamespaceLoad(): Load | undefined {
    return this.window.beginNamespaceLoad(this.nowMs)
  }

  /** How many of these timers are in memory. */
  has(timers: ReadonlyArray<Timer>): number {
    return timers.filter(({ uuid }) => this.window.entryOf(uuid) !== undefined).length
  }
}
