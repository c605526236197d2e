/**
 * `/timers/createMany`: many creates in one body, applied in order. A bad item must not affect the others, so the body
 * accepts any items, and the service decodes each one separately with the schema of create. The OpenAPI document names
 * that schema as the type of the items.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { createResults } from "./CreateTimer.ts"
import { type Limits, limitHint } from "./Limits.ts"
import { ProblemDocument } from "./Problem.ts"
import { perLimits } from "./perLimits.ts"
import { FireId } from "./Timer.ts"
import { Warnings } from "./Warnings.ts"

export const makeCreateManyTimers = perLimits((limits: Limits) => {
  const message = `must be an array of 1 to ${limits.createMany} timers`
  return Schema.Struct({
    timers: Schema.Array(AnyJson)
      .annotate({ message })
      .check(
        Schema.isBetweenLength(1, limits.createMany, { message: `${message}${limitHint("createMany")}` }),
      ),
  }).annotate({
    message: "must be a JSON object",
    identifier: "CreateManyTimers",
    description: "The timers to create. The service applies them in order.",
  })
})

export type CreateManyTimers = ReturnType<typeof makeCreateManyTimers>["Type"]

const CreatedItem = Schema.Struct({
  result: Schema.Literals(createResults),
  timerId: Schema.String,
  revision: Count,
  fireId: FireId,
  warnings: Schema.optionalKey(Warnings),
}).annotate({ identifier: "CreatedItem", description: "A timer of the request that was accepted." })

const FailedItem = Schema.Struct({ problem: ProblemDocument }).annotate({
  identifier: "FailedItem",
  description: "A timer of the request that was refused.",
})

export const CreateManyTimersAnswer = Schema.Struct({
  results: Schema.Array(Schema.Union([CreatedItem, FailedItem])),
}).annotate({
  identifier: "CreateManyTimersAnswer",
  description: "For each timer of the request, in its order, its result or its problem.",
})

export type CreateManyTimersAnswer = typeof CreateManyTimersAnswer.Type
