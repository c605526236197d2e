// Effect's scheduler, in the hands of the world. Fibres of a process hand their next step to a dispatcher;
// nothing runs by itself. The world picks the dispatcher whose turn it is, by the seed, and runs one step: so
// fibres and processes interleave in ways that a real machine finds once in a year, and again on replay.
import type { Fiber, Scheduler } from "effect"
import type { SimProcess } from "./SimProcess.ts"

const opsBeforeYield = 2_048

export class SimScheduler implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly #process: SimProcess

  constructor(process: SimProcess) {
    this.#process = process
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return fiber.currentOpCount >= opsBeforeYield
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return new SimDispatcher(this.#process)
  }
}

interface Task {
  readonly run: () => void
  readonly priority: number
}

/** Its own steps stay in order, as Effect promises; among dispatchers there is none. */
export class SimDispatcher implements Scheduler.SchedulerDispatcher {
  readonly process: SimProcess
  readonly #tasks: Array<Task> = []

  constructor(process: SimProcess) {
    this.process = process
  }

  get size(): number {
    return this.#tasks.length
  }

  scheduleTask(run: () => void, priority: number): void {
    // The steps of a process that crashed are never taken.
    if (!this.process.isAlive) return
    let place = this.#tasks.length
    while (place > 0 && (this.#tasks[place - 1]?.priority ?? 0) > priority) place--
    this.#tasks.splice(place, 0, { run, priority })
    if (this.#tasks.length === 1) this.process.isReady(this)
  }

  runNext(): void {
    this.#tasks.shift()?.run()
  }

  /** Only for who waits for a fibre without Effect, which nobody does here. */
  flush(): void {
    while (this.#tasks.length > 0) this.runNext()
  }
}
