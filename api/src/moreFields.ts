/**
 * How calls that do a bounded part at a time say that there is more. A filter without an index may examine many timers
 * before it finds one, so a repeat begins where the call before it ended.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"

export const moreFields = {
  more: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present when there may be more: repeat the call, with nextCursor as cursor if there is one.",
    }),
  ),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present with more, if the filter has host, reason, error or minLateness.",
    }),
  ),
  examined: Schema.optionalKey(
    Count.annotate({
      description: "How many timers were examined; present with host, reason, error or minLateness.",
    }),
  ),
}

export const cursorNeedsFilter = Schema.makeFilter((body: Readonly<Record<string, unknown>>) =>
  "cursor" in body && !("filter" in body)
    ? { path: ["cursor"], issue: "goes with filter only: remove it" }
    : undefined,
)
