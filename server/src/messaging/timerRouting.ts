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

/** The topic of each type. Where other products share the process, their routes join these in one table. */
export const timerRoutes = ({ commands, events }: TimerTopics): Readonly<Record<string, string>> => ({
  [scheduleTimerType]: commands,
  [cancelTimerType]: commands,
  [dueTimeReachedType]: events,
})

export const timerRouting = (topics: TimerTopics): RoutingTable => new RoutingTable(timerRoutes(topics))
