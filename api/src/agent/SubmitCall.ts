/** The bodies of requests that submit one service call or change one. */
import { Schema } from "effect"
import { NewCorrelationId } from "../CorrelationId.ts"
import { durationBetween } from "../DurationMs.ts"
import { described, usedFor } from "../described.ts"
import { emptyBody } from "../emptyBody.ts"
import { Instant } from "../Instant.ts"
import { atMostOneOf, exactlyOneOf } from "../oneOf.ts"
import { Tags, TagsOrNone } from "../Tags.ts"
import { whyNotWord } from "../TimerId.ts"
import { visiblePattern, whyNotVisible } from "../whyNotVisible.ts"
import { CallRequest } from "./CallRequest.ts"
import { callLimits } from "./callLimits.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

const object = { message: "must be a JSON object" } as const

const textOf = (mostBytes: number, description: string, example: string) => {
  const message = `must be text of 1 to ${mostBytes} bytes of UTF-8 without control characters`
  return Schema.String.annotate({ message }).check(
    Schema.makeFilter((text: string) => whyNotWord(text, mostBytes, message) ?? whyNotVisible(text), {
      toJsonSchema: () => [{ minLength: 1, maxLength: mostBytes, pattern: visiblePattern }, true],
      description: `${description} 1 to ${mostBytes} bytes of UTF-8.`,
      examples: [example],
    }),
  )
}

export const ServiceCallName = textOf(
  callLimits.nameBytes,
  "What the call is for, for people.",
  "Send invoice 4711",
)

const due = {
  dueAt: Schema.optionalKey(
    Instant.pipe(described("When to make the request. An instant that is past, or none, means now.")),
  ),
  delay: Schema.optionalKey(
    durationBetween(0, callLimits.aheadMs).pipe(
      usedFor("The same as a duration from the receipt of this request."),
    ),
  ),
}

const IdempotencyKey = textOf(
  255,
  "Makes repeats safe if you give no serviceCallId: the same key in the same tenant means the same call.",
  "order-4711",
)

/** Many clients send the key in this header by themselves. */
export const SubmitHeaders = Schema.Struct({
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.pipe(usedFor("The same as idempotencyKey. If both are given, they must be equal.")),
  ),
})

export const SubmitCall = Schema.Struct({
  request: CallRequest,
  name: Schema.optionalKey(ServiceCallName),
  ...due,
  tags: Schema.optionalKey(Tags),
  serviceCallId: Schema.optionalKey(ServiceCallId),
  idempotencyKey: Schema.optionalKey(IdempotencyKey),
  correlationId: Schema.optionalKey(NewCorrelationId),
})
  .annotate(object)
  .check(atMostOneOf("dueAt", "delay"))
  .annotate({ identifier: "SubmitCall", description: "The call to submit." })
export type SubmitCall = typeof SubmitCall.Type

export const CancelCall = emptyBody("CancelCall")

export const RescheduleCall = Schema.Struct(due)
  .annotate(object)
  .check(exactlyOneOf("dueAt", "delay"))
  .annotate({ identifier: "RescheduleCall", description: "The new due time." })
export type RescheduleCall = typeof RescheduleCall.Type

export const RunCallAgain = Schema.Struct({
  ...due,
  serviceCallId: Schema.optionalKey(ServiceCallId),
})
  .annotate(object)
  .check(atMostOneOf("dueAt", "delay"))
  .annotate({
    identifier: "RunCallAgain",
    description:
      "When to make the request again, and the id of the new call. {} means now, with an id that the agent makes.",
  })
export type RunCallAgain = typeof RunCallAgain.Type

const annotations = ["name", "tags", "starred"] as const

export const AnnotateCall = Schema.Struct({
  name: Schema.optionalKey(ServiceCallName),
  tags: Schema.optionalKey(TagsOrNone),
  starred: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "Marks the call as important.",
    }),
  ),
})
  .annotate(object)
  .check(
    Schema.makeFilter(
      (body: Readonly<Record<string, unknown>>) =>
        annotations.some((name) => name in body)
          ? undefined
          : `must have at least one of ${annotations.join(", ")}`,
      { toJsonSchema: () => ({ minProperties: 1 }) },
    ),
  )
  .annotate({
    identifier: "AnnotateCall",
    description: "What to change. A field that is absent stays as it is.",
  })
export type AnnotateCall = typeof AnnotateCall.Type
