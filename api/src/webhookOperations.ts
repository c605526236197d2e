/** The webhooks of the OpenAPI document: what a receiver gets, and what its answer means. */
import { JsonSchema, Schema } from "effect"
import { TimerFired } from "./TimerFired.ts"
import { WebhookAnswer } from "./WebhookAnswer.ts"

type Json = Readonly<Record<string, unknown>>

/** The schemas of webhooks by name, with references that are valid in the OpenAPI document. */
export const webhookSchemas = (): Json => {
  const definitions = [TimerFired, WebhookAnswer].map(
    (schema) => Schema.toJsonSchemaDocument(schema).definitions,
  )
  const named = JsonSchema.toMultiDocumentOpenApi3_1({
    dialect: "draft-2020-12",
    schemas: [{}],
    definitions: Object.assign({}, ...definitions),
  })
  return { ...named.definitions, TimerDead: deadOf(named.definitions["TimerFired"] ?? {}) }
}

/** The body of timer.dead has the fields of timer.fired, and the reason and the attempts of the dead timer. */
const deadOf = (fired: JsonSchema.JsonSchema): Json => {
  // The JSON Schema of a struct always has both. A test checks the body of a real call against the result.
  const properties = fired["properties"] as Json
  const required = fired["required"] as ReadonlyArray<string>
  return {
    ...fired,
    description: "The body of the call to the onDead target: the timer that died, and how it ended.",
    properties: {
      ...properties,
      type: { type: "string", enum: ["timer.dead"] },
      fireId: { type: "string", format: "uuid", description: "The fireId of the timer that died." },
      attempt: {
        type: "integer",
        minimum: 0,
        description: "The number of this attempt to deliver timer.dead. The first is 1.",
      },
      reason: {
        type: "string",
        description: "Why the timer is dead: the same value as the field reason of a Timer.",
      },
      attempts: { type: "integer", minimum: 0, description: "How many attempts the timer had." },
      lastAttempt: { $ref: "#/components/schemas/Attempt" },
    },
    required: [...required, "reason", "attempts"],
  }
}

const header = (name: string, description: string, required: boolean, example: string): Json => ({
  name,
  in: "header",
  description,
  required,
  schema: { type: "string" },
  example,
})

const refused: Json = {
  description:
    "The receiver refuses the timer. There is no retry. The timer becomes a dead letter with the reason refused.",
}

const fireId = "01b8d832-8600-7000-8000-03fe5c9c45b0"
const traceparent = "00-01b8d83286007000800003fe5c9c45b0-7a085853722dc6d2-01"

const fired: Json = {
  type: "timer.fired",
  namespace: "billing",
  timerId: "invoice-4711-reminder",
  fireId,
  attempt: 1,
  maxAttempts: 10,
  epoch: 4,
  revision: 1893412800000,
  executeAt: "2030-01-01T09:00:00.000Z",
  firedAt: "2030-01-01T09:00:00.001Z",
  correlationId: "order-4711",
  tags: ["trial"],
  payload: { invoice: 4711 },
}

const headers: ReadonlyArray<Json> = [
  header("webhook-id", "The fireId. It is the same on every attempt.", true, fireId),
  header(
    "webhook-timestamp",
    "When this attempt started, in seconds since 1970 by the real clock.",
    true,
    "1893488400",
  ),
  header(
    "webhook-signature",
    "Standard Webhooks 1.0, over webhook-id, webhook-timestamp and the exact bytes of the body. Present when the namespace has a secret. During a rotation it has two signatures, separated by a blank.",
    false,
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
  header("traceparent", "W3C Trace Context. Each attempt has its own span.", true, traceparent),
  header("punctual-attempt", "The number of this attempt. The first is 1.", true, "1"),
  header("punctual-epoch", "The version of the sending node's claim.", true, "4"),
  header("punctual-namespace", "The namespace of the timer.", true, "billing"),
  header("punctual-timer-id", "The id of the timer, percent-encoded.", true, "invoice-4711-reminder"),
  header("punctual-execute-at", "The instant that the caller asked for.", true, "2030-01-01T09:00:00.000Z"),
  header("punctual-tags", "The tags, each percent-encoded, separated by commas.", false, "trial"),
]

const answers: Json = {
  "2XX": {
    description:
      "Delivered, unless the body says otherwise. A JSON object may arm the timer again or ask for a retry.",
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/WebhookAnswer" },
        examples: {
          delivered: { summary: "Delivered", value: { ok: true } },
          again: {
            summary: "Delivered, and armed again",
            value: { ok: true, nextDelay: "1d", payload: { invoice: 4711, reminder: 2 } },
          },
          retry: {
            summary: "Failed: try again at this time",
            value: { ok: false, nextExecuteAt: "2030-01-01T10:00:00Z" },
          },
        },
      },
    },
  },
  "400": refused,
  "410": refused,
  "422": refused,
  default: {
    description:
      "Any other status, a redirect, a timeout, a network error, or an ok or a time that cannot be read: the service retries by the retry policy. If no attempts are left, the timer becomes a dead letter.",
    headers: {
      "retry-after": {
        description: "The service waits at least this long, up to the policy's maxInterval.",
        schema: { type: "string", examples: ["120"] },
      },
      "punctual-retry": {
        description: "never: the service does not retry, and the timer becomes a dead letter.",
        schema: { type: "string", enum: ["never"] },
      },
    },
  },
}

interface Sent {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** The name of the body's schema. */
  readonly schema: string
  readonly example: Json
}

const webhook = ({ schema, example, ...rest }: Sent): Json => ({
  post: {
    tags: ["Webhooks"],
    ...rest,
    parameters: headers,
    requestBody: {
      required: true,
      description: "Not sent with GET. A target with body: payload gets only the payload.",
      content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` }, example } },
    },
    responses: answers,
  },
})

/** The keys are the `type` of the body. */
export const webhookOperations: Json = {
  "timer.fired": webhook({
    operationId: "webhooks.timerFired",
    summary: "A timer fires",
    description:
      "The service sends this request to the callbackUrl or the target of a due timer, with the target's method and headers. Delivery is at least once: drop repeats by webhook-id, which is the fireId. The service never follows a redirect.",
    schema: "TimerFired",
    example: fired,
  }),
  "timer.dead": webhook({
    operationId: "webhooks.timerDead",
    summary: "A timer is dead",
    description:
      "The service sends this request to the onDead target of a timer, or of its namespace, when the timer becomes a dead letter. The call is a separate timer with retries: webhook-id is its fireId, and the body names the timer that died.",
    schema: "TimerDead",
    example: {
      ...fired,
      type: "timer.dead",
      reason: "attemptsExhausted",
      attempts: 10,
      lastAttempt: {
        at: "2030-01-02T09:12:31.004Z",
        status: 503,
        error: "answered 503",
        durationMs: 41,
      },
    },
  }),
}
