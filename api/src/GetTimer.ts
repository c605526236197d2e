/** `/timers/get`: one timer by its key. Other calls answer with the same `{ timer }`. */
import { Schema } from "effect"
import { Namespace } from "./Namespace.ts"
import { TimerSchema } from "./Timer.ts"
import { TimerId } from "./TimerId.ts"

export const GetTimer = Schema.Struct({ namespace: Namespace, timerId: TimerId }).annotate({
  message: "must be a JSON object",
  identifier: "GetTimer",
  description: "The key of a timer.",
})

export type GetTimer = typeof GetTimer.Type

export const TimerAnswer = Schema.Struct({ timer: TimerSchema }).annotate({
  identifier: "TimerAnswer",
  description: "The pending timer. If no timer with this id is pending, the one that finished last.",
})

export type TimerAnswer = typeof TimerAnswer.Type
