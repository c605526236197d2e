/**
 * The stream of changes of a tenant's calls. It is described here and not as an endpoint, because its answer is text
 * that never ends.
 */
import { Schema } from "effect"
import { Instant } from "../Instant.ts"
import { type Json, streamParameter, streamRefusals } from "../streamPaths.ts"
import { ServiceCallView } from "./ServiceCallView.ts"

export const callEventsPath = "/api/v1/tenants/:tenantId/events"

/** A reader that resumes gets again what was stored this long before the time that it names. */
export const resumeOverlapMs = 10_000

export const CallEventsQuery = Schema.Struct({
  after: Schema.optionalKey(Instant),
}).annotate({ message: "must be a query such as ?after=2030-01-01T09:00:00Z" })

/** The data of the event `call`. */
export const CallEventData = Schema.Struct({ at: Instant, call: ServiceCallView }).annotate({
  identifier: "CallEvent",
  description: "The call after a change, and when the change was stored.",
})

/** For the OpenAPI document. `actionField` is the name of the field for the action, `example` a call. */
export const callEventPaths = (actionField: string, example: Json): Json => ({
  [callEventsPath.replace(":tenantId", "{tenantId}")]: {
    get: {
      tags: ["Service calls"],
      operationId: "serviceCalls.events",
      summary: "Follow changes",
      description:
        "Answers a stream of Server-Sent Events (text/event-stream) that does not end. Event call has the call after each change, without its contents. The id of an event is the time at which the change was stored. A reader that resumes with its last id gets the changes of the 10 s before it again: drop a change whose version is not newer than the one that you have. Event gap says that changes may be missing here, because there were too many or the reader was too slow: read the list again. Every 15 s without an event there is a comment. The stream ends when the key ends and when the agent stops.",
      [actionField]: "calls.read",
      parameters: [
        streamParameter("path", "tenantId", "The tenant.", "billing"),
        streamParameter(
          "query",
          "after",
          "Begin with the changes after this instant.",
          "2030-01-01T09:00:00Z",
        ),
        streamParameter(
          "header",
          "last-event-id",
          "The id of the last event that the reader got. Browsers send it by themselves.",
          "2030-01-01T09:00:00.131Z",
        ),
      ],
      responses: {
        "200": {
          description: "The changes.",
          content: {
            "text/event-stream": {
              schema: { type: "string" },
              example: `event: call\nid: 2030-01-01T09:00:00.131Z\ndata: ${JSON.stringify({ at: "2030-01-01T09:00:00.131Z", call: example })}\n\n`,
            },
          },
        },
        ...streamRefusals("There are too many readers, or the agent stops"),
      },
    },
  },
})
