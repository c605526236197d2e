/**
 * The fields with which calls on many timers say that there is more. A filter without an index may examine many timers
 * before one matches, so a repeated call continues where the last one ended.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"

export const moreFields = {
  more: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present if there may be more timers. Repeat the call, with nextCursor as cursor if there is one.",
    }),
  ),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present together with more if the filter has host, reason, error or minLateness.",
    }),
  ),
  examined: Schema.optionalKey(
    Count.annotate({
      description: "How many timers were examined; present with host, reason, error or minLateness.",
    }),
  ),
}

export const cursorNeedsFilter = Schema.makeFilter(
  (body: Readonly<Record<string, unknown>>) =>
    "cursor" in body && !("filter" in body)
      ? { path: ["cursor"], issue: "can be used only with filter: remove it" }
      : undefined,
  { toJsonSchema: () => ({ dependentRequired: { cursor: ["filter"] } }) },
)
