/** A service call as the agent shows it: in lists and events without its contents, and in detail with them. */
import { Schema } from "effect"
import { Count } from "../Count.ts"
import { described } from "../described.ts"
import { Instant } from "../Instant.ts"

export const callStatuses = ["Submitted", "Scheduled", "Running", "Succeeded", "Failed", "Cancelled"] as const

const CallStatus = Schema.Literals(callStatuses).annotate({
  description:
    "Submitted: accepted. Scheduled: waits for its due time. Running: the request is on its way. Succeeded: the service answered 2xx. Failed: it did not. Cancelled: it was never made. The last three never change.",
})

const errorKinds = ["status", "timeout", "network", "egressRefused", "outcomeUnknown"] as const

const latencyMs = Schema.Finite.annotate({ description: "From the start of the request to its end." })

const ErrorView = Schema.Struct({
  kind: Schema.Literals(errorKinds).annotate({
    description:
      "status: the service answered another status than 2xx. timeout: it did not answer in time. network: it could not be reached. egressRefused: the rules of the operator do not allow this address. outcomeUnknown: the agent does not know whether the request was carried out.",
  }),
  message: Schema.String,
  latencyMs: Schema.optionalKey(latencyMs),
}).annotate({ identifier: "CallError", description: "Why the call failed." })

const AnswerFacts = Schema.Struct({
  status: Count.annotate({ description: "The HTTP status of the answer." }),
  latencyMs,
}).annotate({
  identifier: "CallResponse",
  description: "The answer of the called service, if there was one.",
})

const AnswerDetail = Schema.Struct({
  status: AnswerFacts.fields.status,
  latencyMs,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  bodySnippet: Schema.optionalKey(
    Schema.String.annotate({ description: "The body as text, at most 64 KiB of it." }),
  ),
  cut: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "true if the body was longer than the snippet." }),
  ),
}).annotate({ identifier: "CallResponseDetail", description: "The answer with its headers and its body." })

const facts = {
  tenantId: Schema.String,
  serviceCallId: Schema.String,
  version: Count.annotate({
    description: "Grows with every change of the call. The larger version of the same call is newer.",
  }),
  status: CallStatus,
  name: Schema.String,
  tags: Schema.Array(Schema.String),
  starred: Schema.Boolean,
  method: Schema.String,
  host: Schema.String,
  url: Schema.String.annotate({ description: "The URL without its query." }),
  correlationId: Schema.String.annotate({
    description: "All messages about this call have it. By default it is the request id of the submission.",
  }),
  submittedAt: Instant,
  dueAt: Instant.pipe(described("When the request is to be made.")),
  attemptId: Schema.optionalKey(
    Schema.String.annotate({ description: "The agent sends it as the header Idempotency-Key." }),
  ),
  runningAt: Schema.optionalKey(Instant.pipe(described("When the agent started the attempt."))),
  startedAt: Schema.optionalKey(Instant.pipe(described("When the agent sent the request."))),
  finishedAt: Schema.optionalKey(Instant),
  error: Schema.optionalKey(ErrorView),
}

export const ServiceCallView = Schema.Struct({
  ...facts,
  response: Schema.optionalKey(AnswerFacts),
}).annotate({ identifier: "ServiceCall", description: "A service call, without its contents." })

export type ServiceCallView = typeof ServiceCallView.Type

export const ServiceCallDetail = Schema.Struct({
  ...facts,
  response: Schema.optionalKey(AnswerDetail),
}).annotate({ identifier: "ServiceCallDetail", description: "A service call with its answer." })

export type ServiceCallDetail = typeof ServiceCallDetail.Type

const TimelineEntryView = Schema.Struct({
  at: Instant,
  version: Count.annotate({ description: "The version of the call after this." }),
  what: Schema.String.annotate({
    description:
      "The message that the agent handled, such as DueTimeReached, or what was done, such as Cancelled.",
  }),
  status: CallStatus,
  messageId: Schema.optionalKey(Schema.String.annotate({ description: "The id of that message." })),
  causationId: Schema.optionalKey(
    Schema.String.annotate({ description: "The id of the message that caused it." }),
  ),
  detail: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "TimelineEntry", description: "One thing that happened to the call." })

const RequestView = Schema.Struct({
  method: Schema.String,
  url: Schema.String,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.String.annotate({ description: "The body as it is sent." })),
}).annotate({
  identifier: "ShownRequest",
  description: "The request, with the values of secret headers redacted.",
})

export const ServiceCallAnswer = Schema.Struct({ call: ServiceCallView }).annotate({
  identifier: "ServiceCallAnswer",
})
export type ServiceCallAnswer = typeof ServiceCallAnswer.Type

export const ServiceCallDetailAnswer = Schema.Struct({
  call: ServiceCallDetail,
  request: RequestView,
  timeline: Schema.Array(TimelineEntryView).annotate({ description: "Oldest first." }),
  hidden: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "true if the key lacks payload.read. Then headers, bodies, and the query of the URL are left out.",
    }),
  ),
}).annotate({ identifier: "ServiceCallDetailAnswer" })
export type ServiceCallDetailAnswer = typeof ServiceCallDetailAnswer.Type

export const SubmittedCallAnswer = Schema.Struct({
  result: Schema.Literals(["submitted", "unchanged"]).annotate({
    description: "unchanged: the same call was submitted before. Nothing was written.",
  }),
  call: ServiceCallView,
}).annotate({ identifier: "SubmittedCallAnswer" })
export type SubmittedCallAnswer = typeof SubmittedCallAnswer.Type
