/** The place at which the next page begins, from an earlier answer to the same request. */
import { Schema } from "effect"
import type { Limits } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const cursorMessage = "must be the nextCursor of an earlier answer"

export const makeCursor = perLimits(({ cursorLength }: Limits) =>
  Schema.String.annotate({ message: cursorMessage }).check(
    Schema.isBetweenLength(1, cursorLength, {
      message: cursorMessage,
      description: "The nextCursor of an earlier answer to a request with the same filter.",
    }),
  ),
)
