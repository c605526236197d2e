/**
 * Where a timer is delivered. `TargetInput` is the target in a request, with wire names and optional fields. `Target`
 * is the complete target that the service stores and answers, with units in its names.
 */
import { Schema } from "effect"
import { makeCallbackUrl } from "./CallbackUrl.ts"
import { DurationMs, durationBetween } from "./DurationMs.ts"
import { usedFor } from "./described.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"
import { makeWebhookHeaders } from "./WebhookHeaders.ts"

const methods = ["POST", "PUT", "PATCH", "GET", "DELETE"] as const
const bodies = ["envelope", "payload"] as const

const makeWebhookInput = perLimits((limits: Limits) =>
  Schema.Struct({
    type: Schema.Literal("webhook"),
    url: makeCallbackUrl(limits),
    method: Schema.optionalKey(
      Schema.Literals(methods).annotate({
        message: `must be one of ${methods.join(", ")}`,
        description: "The HTTP method; POST when left out.",
      }),
    ),
    headers: Schema.optionalKey(makeWebhookHeaders(limits)),
    timeout: Schema.optionalKey(
      durationBetween(
        limits.timeoutMinMs,
        limits.timeoutMaxMs,
        limitHint("timeoutMinMs", "timeoutMaxMs"),
      ).pipe(usedFor("How long the receiver may take to answer.")),
    ),
    body: Schema.optionalKey(
      Schema.Literals(bodies).annotate({
        message: `must be one of ${bodies.join(", ")}`,
        description:
          "envelope (the default) sends the timer with its payload; payload sends the payload alone.",
      }),
    ),
  }).annotate({ identifier: "WebhookTargetInput" }),
)

const EventInput = Schema.Struct({ type: Schema.Literal("event") }).annotate({
  identifier: "EventTargetInput",
})

/** The target of a request. `timeout` decodes to milliseconds. */
export const makeTargetInput = perLimits((limits: Limits) =>
  Schema.Union([
    makeWebhookInput(limits),
    EventInput,
    Schema.Struct({ type: Schema.Literal("handler") }).annotate({ identifier: "HandlerTargetInput" }),
  ]).annotate({
    identifier: "TargetInput",
    message: "must be an object whose type is webhook or event (inside a program also handler)",
    description: "Where the timer is delivered.",
  }),
)

/** The target that gets a call for a dead timer. It is outside this process. */
export const makeOnDead = perLimits((limits: Limits) =>
  Schema.Union([makeWebhookInput(limits), EventInput]).annotate({
    identifier: "OnDead",
    message: onDeadMessage,
    description:
      "Who is called, with type timer.dead, when the timer is dead. The call is a timer of its own, _dead. and the fireId, with retries.",
  }),
)

export const onDeadMessage = "must be an object whose type is webhook or event"

export type TargetInput = ReturnType<typeof makeTargetInput>["Type"]

const WebhookTarget = Schema.Struct({
  type: Schema.Literal("webhook"),
  url: Schema.String,
  method: Schema.Literals(methods),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  timeoutMs: DurationMs,
  body: Schema.Literals(bodies),
})
  .pipe(Schema.encodeKeys({ timeoutMs: "timeout" }))
  .pipe(Schema.annotateEncoded({ identifier: "WebhookTarget", description: "An HTTP request to a URL." }))

const EventTarget = Schema.Struct({ type: Schema.Literal("event") }).annotate({
  identifier: "EventTarget",
  description: "An event on the bus.",
})
const HandlerTarget = Schema.Struct({ type: Schema.Literal("handler") }).annotate({
  identifier: "HandlerTarget",
  description: "A handler in the program that runs the engine.",
})

/** The complete target, as the service stores it and answers show it. */
export const TargetSchema = Schema.Union([WebhookTarget, EventTarget, HandlerTarget])

/** The same for a target of `onDead`. */
export const OnDeadSchema = Schema.Union([WebhookTarget, EventTarget])

type Target = typeof TargetSchema.Type

/** Fills in the defaults of a target. */
export const completeTarget = (input: TargetInput, limits: Limits): Target =>
  input.type === "webhook" ? completeWebhook(input, limits) : { type: input.type }

/** The same for a target of `onDead`. */
export const completeOnDead = (input: OnDeadInput, limits: Limits): typeof OnDeadSchema.Type =>
  input.type === "webhook" ? completeWebhook(input, limits) : input

type OnDeadInput = ReturnType<typeof makeOnDead>["Type"]

const completeWebhook = (
  input: Extract<OnDeadInput, { readonly type: "webhook" }>,
  limits: Limits,
): typeof WebhookTarget.Type => ({
  type: "webhook",
  url: input.url,
  method: input.method ?? "POST",
  ...(input.headers === undefined ? {} : { headers: input.headers }),
  timeoutMs: input.timeout ?? limits.timeoutDefaultMs,
  body: input.body ?? "envelope",
})
