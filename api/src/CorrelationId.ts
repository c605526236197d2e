/** Links a timer to the caller's own work. It follows the rules of timer ids. */
import { Schema } from "effect"
import { idMessage, idPattern, timerIdBytes, whyNotId } from "./TimerId.ts"
import { visiblePattern, whyNotVisible } from "./whyNotVisible.ts"

export const CorrelationId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: idPattern }, true],
      description: "Links the timer to the caller's own work. Every delivery contains it.",
      examples: ["order-4711"],
    }),
  )
  .pipe(Schema.brand("CorrelationId"))

export type CorrelationId = typeof CorrelationId.Type

/** What is wrong with the correlation id of a new or changed timer; `undefined` if it is valid. */
export const whyNotNewCorrelationId = (text: string): string | undefined =>
  whyNotId(text) ?? whyNotVisible(text)

/** The correlation id of a new or changed timer. The rule is stricter than that of a filter or of a stored message. */
export const NewCorrelationId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotNewCorrelationId, {
      toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: visiblePattern }, true],
      description: "Links the timer to the caller's own work. Every delivery contains it.",
      examples: ["order-4711"],
    }),
  )
  .pipe(Schema.brand("CorrelationId"))
