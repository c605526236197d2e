// The topics of the agent's messages, and the form in which the bus takes them. On shared addresses all messages of a
// tenant use one topic; on split addresses commands and events have a topic each, as in the Timer.
import { executionFailedType } from "@punctual/api/agent/ExecutionFailed"
import { executionStartedType } from "@punctual/api/agent/ExecutionStarted"
import { executionSucceededType } from "@punctual/api/agent/ExecutionSucceeded"
import { serviceCallEventTypes } from "@punctual/api/agent/ServiceCallChanged"
import { startExecutionType } from "@punctual/api/agent/StartExecution"
import { submitServiceCallType } from "@punctual/api/agent/SubmitServiceCall"
import { CorrelationId } from "@punctual/api/CorrelationId"
import { dueTimeReachedType } from "@punctual/api/DueTimeReached"
import { Namespace } from "@punctual/api/Namespace"
import { AggregateId } from "@punctual/bus/AggregateId"
import { MessageType, type OutgoingEnvelope } from "@punctual/bus/Envelope"
import { EnvelopeId } from "@punctual/bus/EnvelopeId"
import type { RoutedGroup } from "@punctual/bus/RoutingTable"
import type { OutboxMessage } from "../domain/OutboxMessage.ts"

export interface AgentTopics {
  readonly commands: string
  readonly events: string
}

export const agentTopics = (subjects: "shared" | "split"): AgentTopics =>
  subjects === "shared"
    ? { commands: "serviceCall", events: "serviceCall" }
    : { commands: "serviceCall.commands", events: "serviceCall.events" }

const executionEvents = [executionStartedType, executionSucceededType, executionFailedType]

/** The topic of each of the agent's own types. Those of the Timer are in the Timer's table. */
export const agentRoutes = ({ commands, events }: AgentTopics): Readonly<Record<string, string>> => ({
  [submitServiceCallType]: commands,
  [startExecutionType]: commands,
  ...Object.fromEntries([...executionEvents, ...serviceCallEventTypes].map((type) => [type, events])),
})

/** Types that only tell what happened. Nobody has to listen. */
export const unheardAgentTypes: ReadonlyArray<string> = serviceCallEventTypes

export interface AgentSubscription {
  readonly group: string
  readonly topic: string
  readonly types: ReadonlySet<string>
}

const orchestrationCommands = [submitServiceCallType]
const orchestrationEvents = [dueTimeReachedType, ...executionEvents]

/** A group belongs to one topic, so Orchestration has one group for each topic. */
export const orchestrationSubscriptions = ({
  commands,
  events,
}: AgentTopics): ReadonlyArray<AgentSubscription> =>
  commands === events
    ? [
        {
          group: "agent-orchestration",
          topic: events,
          types: new Set([...orchestrationCommands, ...orchestrationEvents]),
        },
      ]
    : [
        { group: "agent-orchestration-commands", topic: commands, types: new Set(orchestrationCommands) },
        { group: "agent-orchestration-events", topic: events, types: new Set(orchestrationEvents) },
      ]

export const executionSubscription = ({ commands }: AgentTopics): AgentSubscription => ({
  group: "agent-execution",
  topic: commands,
  types: new Set([startExecutionType]),
})

export const agentGroups = (topics: AgentTopics): ReadonlyArray<RoutedGroup> =>
  [...orchestrationSubscriptions(topics), executionSubscription(topics)].map(({ group, topic }) => ({
    group,
    topic,
  }))

/** Throws if the message is not valid, which is an error of the program. */
export const outgoingOf = (tenantId: string, message: OutboxMessage): OutgoingEnvelope => ({
  id: EnvelopeId.make(message.id),
  type: MessageType.make(message.type),
  tenantId: Namespace.make(tenantId),
  aggregateId: AggregateId.make(message.aggregateId),
  timestampMs: message.timestampMs,
  correlationId: CorrelationId.make(message.correlationId),
  ...(message.causationId === undefined ? {} : { causationId: CorrelationId.make(message.causationId) }),
  payloadJson: message.payloadJson,
})
