// The topics of the timer's messages. On shared addresses, commands and events of a tenant use one topic, which is the
// default of the contract. On split addresses, each has a topic of its own, so that services read only messages for
// them.
import { cancelTimerType } from "@punctual/api/CancelTimer"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { scheduleTimerType } from "@punctual/api/ScheduleTimer"
import { type RoutedGroup, RoutingTable } from "@punctual/bus/RoutingTable"

export interface TimerTopics {
  readonly commands: string
  readonly events: string
}

export const timerTopics = (subjects: "shared" | "split"): TimerTopics =>
  subjects === "shared"
    ? { commands: "serviceCall", events: "serviceCall" }
    : { commands: "serviceCall.commands", events: "serviceCall.events" }

/** The topic of each type. If other products share the process, their routes are merged into the same table. */
export const timerRoutes = ({ commands, events }: TimerTopics): Readonly<Record<string, string>> => ({
  [scheduleTimerType]: commands,
  [cancelTimerType]: commands,
  [dueTimeReachedType]: events,
})

/** All nodes of the service share the commands as members of this group. */
export const timerGroup = "punctual"

export const timerGroups = ({ commands }: TimerTopics): ReadonlyArray<RoutedGroup> => [
  { group: timerGroup, topic: commands },
]

export const timerRouting = (topics: TimerTopics): RoutingTable =>
  new RoutingTable(timerRoutes(topics), [], timerGroups(topics))
