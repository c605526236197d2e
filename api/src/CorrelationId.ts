/** What ties a timer to the caller's own flow of work. It follows the rules of timer ids. */
import { Schema } from "effect"
import { idMessage, idPattern, timerIdBytes, whyNotId } from "./TimerId.ts"

export const CorrelationId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: idPattern }, true],
      description: "Ties the timer to the caller's own work and travels with every delivery.",
      examples: ["order-4711"],
    }),
  )
  .pipe(Schema.brand("CorrelationId"))

export type CorrelationId = typeof CorrelationId.Type
