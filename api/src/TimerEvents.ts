/**
 * The stream of events: the one call that is not a POST, because browsers read such streams with GET. It is described
 * here and not as an endpoint, because its answer is text that never ends.
 */
import { Schema } from "effect"
import { EventNamespaces } from "./NamespaceChoices.ts"
import { type Json, streamParameter, streamRefusals } from "./streamPaths.ts"

export const eventStreamPath = "/api/v1/events/stream"

/** What can happen to a timer. */
export const timerEventTypes = [
  "created",
  "changed",
  "cancelled",
  "started",
  "delivered",
  "retried",
  "dead",
  "replayed",
] as const

/** The state of a timer after an event. */
export const timerEventStates = ["pending", "inFlight", "delivered", "cancelled", "dead"] as const

const typeMessage = `must be one of ${timerEventTypes.join(", ")}`

const EventTypes = Schema.Array(Schema.Literals(timerEventTypes).annotate({ message: typeMessage })).check(
  Schema.isBetweenLength(1, timerEventTypes.length, {
    message: `must be 1 to ${timerEventTypes.length} types`,
  }),
)

/** The query, with its lists separated. */
export const StreamEvents = Schema.Struct({
  namespaces: Schema.optionalKey(EventNamespaces),
  types: Schema.optionalKey(EventTypes),
})

export type StreamEvents = typeof StreamEvents.Type

/** The data of an event about a timer. Readers must accept more fields. */
export const TimerEventData = Schema.Struct({
  namespace: Schema.String,
  timerId: Schema.String,
  /** Absent if the timer was cancelled while it was only in the store. */
  fireId: Schema.optionalKey(Schema.String),
  at: Schema.String,
  state: Schema.String,
})

const streamText = `event: nodes
id: 5f0c1ba2d3e4.2s
data: {"missing":[]}

event: delivered
id: 5f0c1ba2d3e4.2t
data: {"namespace":"billing","timerId":"invoice-4711-reminder","fireId":"0197a4f2-7c1e-7d3a-9a53-0b7f2f6f1c11","at":"2030-01-01T09:00:00.041Z","state":"delivered"}

event: skipped
id: 5f0c1ba2d3e4.4k
data: {"counts":{"started":31,"delivered":30}}

`

/** For the OpenAPI document. `actionField` is the name of the field for the action. */
export const eventPaths = (actionField: string): Json => ({
  [eventStreamPath]: {
    get: {
      tags: ["Events"],
      operationId: "events.stream",
      summary: "Follow events",
      description:
        "Answers a stream of Server-Sent Events (text/event-stream) that does not end. Any node has the events of all nodes. Types of events: created, changed, cancelled, started, delivered, retried, dead, replayed. Their data has namespace, timerId, fireId, at and state, and never a payload. A cancelled timer that was not in memory has no fireId. A timer that arms itself again is delivered with the state pending. An event can come twice, and events of different nodes can come in another order than they happened. A reader gets at most 50 events of each second. The rest comes as counts by type: event skipped. Event nodes names the nodes whose events do not arrive; the stream begins with it. Event gap says that events may be missing here: read the timers again. Every 15 s without an event there is a comment. After an interruption of up to a minute a reader continues where it was, on any node, if it sends the last id; browsers do this by themselves. The stream ends when the key ends and when the service stops.",
      [actionField]: "timers.read",
      parameters: [
        streamParameter(
          "query",
          "namespaces",
          "Names, and prefixes followed by *, separated by commas. By default, and with *, all namespaces that the key may read.",
          "billing,team-*",
        ),
        streamParameter(
          "query",
          "types",
          "Types of events, separated by commas. By default all.",
          "delivered,dead",
        ),
        streamParameter(
          "header",
          "last-event-id",
          "The id of the last event that the reader got, to continue after it.",
          "5f0c1ba2d3e4.2t",
        ),
      ],
      responses: {
        "200": {
          description: "The events.",
          content: { "text/event-stream": { schema: { type: "string" }, example: streamText } },
        },
        ...streamRefusals("There are too many readers, or the service stops"),
      },
    },
  },
})
