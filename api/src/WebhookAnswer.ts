/** The answer of a webhook receiver, for the OpenAPI document. The service itself accepts more than this schema. */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { DurationMs } from "./DurationMs.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { atMostOneOf } from "./oneOf.ts"

export const WebhookAnswer = Schema.Struct({
  ok: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "true or absent: the timer is delivered. false: the attempt failed, and the service retries by the retry policy.",
    }),
  ),
  nextExecuteAt: Schema.optionalKey(
    Instant.pipe(
      described(
        "With ok: true the timer is armed again for this instant, with a new fireId. With ok: false it is the time of the next attempt. An instant in the past, or nearer than 1 s, means in 1 s.",
      ),
    ),
  ),
  nextDelay: Schema.optionalKey(
    DurationMs.pipe(described("The same as a delay from the answer. At least 1 s.")),
  ),
  payload: Schema.optionalKey(
    AnyJson.annotate({ description: "The new payload, if the timer is armed again." }),
  ),
})
  .annotate({
    message: "must be a JSON object",
    description:
      "An optional JSON object in a 2xx answer. A 2xx answer without it, or without ok, means delivered. The service reads at most 64 KiB of it. null counts as absent.",
  })
  .check(atMostOneOf("nextExecuteAt", "nextDelay"))
  .annotate({ identifier: "WebhookAnswer" })
