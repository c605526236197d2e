/** What happens to a timer that was not started by executeAt plus expireAfter. */
import { Schema } from "effect"

export const expiryRules = ["dead", "drop"] as const

export const OnExpire = Schema.Literals(expiryRules).annotate({
  message: `must be one of ${expiryRules.join(", ")}`,
  description:
    "What happens if it expires: dead (the default) keeps it as a dead letter, drop ends it as cancelled with the reason expired. Only together with expireAfter.",
})

/** A rule over the whole body, because it concerns two fields. */
export const expiresIfOnExpire = Schema.makeFilter(
  (body: { readonly onExpire?: unknown; readonly expireAfter?: unknown }) =>
    body.onExpire === undefined || typeof body.expireAfter === "number"
      ? undefined
      : { path: ["onExpire"], issue: "needs expireAfter: give both of them, or neither" },
  { toJsonSchema: () => ({ dependentRequired: { onExpire: ["expireAfter"] } }) },
)
