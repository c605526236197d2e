/** The request that a service call makes, as callers give it and as the agent shows it. */
import { Schema } from "effect"
import { AnyJson } from "../AnyJson.ts"
import { whyNotHttpUrl } from "../CallbackUrl.ts"
import { CallHeaders } from "./CallHeaders.ts"
import { callLimits } from "./callLimits.ts"

export const callMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

export const CallMethod = Schema.Literals(callMethods).annotate({
  message: `must be one of ${callMethods.join(", ")}, in capitals`,
  description: "The method of the request.",
  examples: ["POST"],
})

const urlMessage = "must be an absolute http or https URL, such as https://api.example.com/invoices"

const CallUrl = Schema.String.annotate({ message: urlMessage }).check(
  Schema.makeFilter((text: string) => whyNotHttpUrl(text, callLimits.urlLength), {
    toJsonSchema: () => [
      {
        minLength: 1,
        maxLength: callLimits.urlLength,
        pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        format: "uri",
      },
      true,
    ],
    description:
      "An absolute http or https URL without credentials or fragment. Lists and events show it without its query.",
    examples: ["https://api.example.com/invoices"],
  }),
)

const bodyless = new Set<string>(["GET", "HEAD"])

const bodyText =
  "A text is sent as it is, in UTF-8. Any other JSON is sent as JSON text, exactly as it was given, with content-type application/json if no header gives another. GET and HEAD have no body."

export const CallRequest = Schema.Struct({
  method: CallMethod,
  url: CallUrl,
  headers: Schema.optionalKey(CallHeaders),
  body: Schema.optionalKey(AnyJson.annotate({ description: bodyText })),
})
  .annotate({ message: "must be a JSON object with method and url" })
  .check(
    Schema.makeFilter(
      ({ method, body }: { readonly method: string; readonly body?: unknown }) =>
        bodyless.has(method) && body !== undefined
          ? { path: ["body"], issue: `cannot be sent with ${method}: remove it, or use another method` }
          : undefined,
      {
        toJsonSchema: () => ({
          if: { properties: { method: { enum: [...bodyless] } }, required: ["method"] },
          // biome-ignore lint/suspicious/noThenProperty: this is a keyword of JSON Schema.
          then: { not: { required: ["body"] } },
        }),
      },
    ),
  )
  .annotate({ identifier: "CallRequest", description: "The request to make." })

export type CallRequest = typeof CallRequest.Type
