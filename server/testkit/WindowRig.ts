// A window that a test fills by hand, to a state that would take the engine long to come to: some timers in memory,
// some under way, horizons here and there. Then it is asked what it would read next.
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
      { withdraw: () => {}, wake: () => {} },
    )
  }

  /** So many timers of a namespace, due so long from now. */
  timers(namespace: string, count: number, inMs: number, rest: SampleTimer = {}): ReadonlyArray<Timer> {
    return Array.from({ length: count }, () =>
      sampleTimer({ namespace, executeAt: this.nowMs + inMs, ...rest }),
    )
  }

  /** They are in memory, wherever the horizon lies. */
  hold(timers: ReadonlyArray<Timer>): ReadonlyArray<Timer> {
    const read = this.window.beginRead()
    for (const timer of timers) expect(this.window.rescue(timer, read)).toBe(true)
    this.window.endRead(read)
    return timers
  }

  /** What is due is ready from now on. */
  takeDue(): void {
    this.window.takeDue(this.nowMs, Number.POSITIVE_INFINITY)
  }

  /** A namespace whose due timers have piled up; those are under way, so that they take no room. */
  exclude(namespace: string): ReadonlyArray<Timer> {
    const due = this.hold(this.timers(namespace, 11, -1))
    for (const entry of this.window.takeDue(this.nowMs, Number.POSITIVE_INFINITY)) this.window.start(entry)
    expect(this.window.excludedNamespaces).toContain(namespace)
    return due
  }

  /** They have ended. */
  forget(timers: ReadonlyArray<Timer>): void {
    for (const { uuid } of timers) this.window.forget(uuid)
  }

  /** The next page of the main horizon is these. */
  load(rows: ReadonlyArray<Timer>): void {
    const load = this.window.beginLoad(this.nowMs)
    if (load === undefined) throw new Error("the window reads nothing")
    this.window.finishLoad(load, rows)
  }

  /** The next page of an excluded namespace, as the window asks for it. */
  beginNamespaceLoad(): Load | undefined {
    return this.window.beginNamespaceLoad(this.nowMs)
  }

  /** How many of these are in memory. */
  has(timers: ReadonlyArray<Timer>): number {
    return timers.filter(({ uuid }) => this.window.entryOf(uuid) !== undefined).length
  }
}
