/** Where to go on: what an earlier answer to the same request gave. */
import { Schema } from "effect"
import type { Limits } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const cursorMessage = "must be the nextCursor of an earlier answer"

export const makeCursor = perLimits(({ cursorLength }: Limits) =>
  Schema.String.annotate({ message: cursorMessage }).check(
    Schema.isBetweenLength(1, cursorLength, {
      message: cursorMessage,
      description: "The nextCursor of an earlier answer, with the same filter.",
    }),
  ),
)
