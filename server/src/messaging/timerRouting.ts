// Where the timer's messages go. On shared addresses commands and events of a tenant are on one topic, as the contract has
// it by default; split, each has a topic of its own, so that nobody has to read what is not for them.
import { cancelTimerType } from "@punctual/api/CancelTimer"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { scheduleTimerType } from "@punctual/api/ScheduleTimer"
import { RoutingTable } from "@punctual/bus/RoutingTable"

export interface TimerTopics {
  readonly commands: string
  readonly events: string
}

export const timerTopics = (subjects: "shared" | "split"): TimerTopics =>
  subjects === "shared"
    ? { commands: "serviceCall", events: "serviceCall" }
    : { commands: "serviceCall.commands", events: "serviceCall.events" }

/** Where other products share the process, their types join the table. */
export const timerRouting = ({ commands, events }: TimerTopics): RoutingTable =>
  new RoutingTable({
    [scheduleTimerType]: commands,
    [cancelTimerType]: commands,
    [dueTimeReachedType]: events,
  })
