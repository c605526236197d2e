// Counts the tasks that wait for their turn. The engine harness can then see when all is still.
import { Scheduler as Fibers } from "effect"

export class CountingScheduler extends Fibers.MixedScheduler {
  waiting = 0

  override makeDispatcher() {
    const dispatcher = super.makeDispatcher()
    const { scheduleTask } = dispatcher
    dispatcher.scheduleTask = (task, priority) => {
      this.waiting++
      scheduleTask.call(
        dispatcher,
        () => {
          this.waiting--
          task()
        },
        priority,
      )
    }
    return dispatcher
  }
}
