/**
 * The body of a webhook. The service does not write it with this schema, because it inserts the bytes of the payload
 * unchanged. The schema describes the body for the OpenAPI document, and a test compares the two.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { FireId } from "./Timer.ts"

export const TimerFired = Schema.Struct({
  type: Schema.Literal("timer.fired"),
  namespace: Schema.String,
  timerId: Schema.String,
  fireId: FireId,
  attempt: Count.annotate({ description: "The number of this attempt. The first is 1." }),
  maxAttempts: Count.annotate({ description: "How many attempts the retry policy allows in total." }),
  epoch: Count.annotate({
    description: "The version of the sending node's claim. It grows when another node takes over the timer.",
  }),
  revision: Count.annotate({ description: "The revision of the timer that fires." }),
  executeAt: Instant.pipe(described("The instant that the caller asked for.")),
  firedAt: Instant.pipe(described("When this attempt started, by the clock of the service.")),
  correlationId: Schema.String,
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  payload: Schema.optionalKey(
    AnyJson.annotate({ description: "The timer's payload, byte for byte. Absent if the timer has none." }),
  ),
}).annotate({
  identifier: "TimerFired",
  description:
    "The body of a webhook. A target with body: payload gets only the payload, and the headers have the rest.",
})
