// Effect's scheduler, controlled by the world. The fibres of a process give their next step to a dispatcher; nothing
// runs by itself. The world picks a dispatcher by the seed and runs one step. Fibres and processes therefore interleave
// in ways that a real machine shows once a year, and a replay repeats them.
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

/** A dispatcher runs its own steps in order, as Effect promises. There is no order among dispatchers. */
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
    // A crashed process takes no more steps.
    if (!this.process.isAlive) return
    let place = this.#tasks.length
    while (place > 0 && (this.#tasks[place - 1]?.priority ?? 0) > priority) place--
    this.#tasks.splice(place, 0, { run, priority })
    if (this.#tasks.length === 1) this.process.isReady(this)
  }

  runNext(): void {
    this.#tasks.shift()?.run()
  }

  /** Only code that waits for a fibre without Effect calls this. The simulation has no such code. */
  flush(): void {
    while (this.#tasks.length > 0) this.runNext()
  }
}
