/**
 * The headers that a caller may add to its webhooks. A header that could split a request, change its framing or look
 * like one of the service's own headers is refused when the timer is created, and not only at its first attempt.
 */
import { Schema } from "effect"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"
import { type HeaderRules, whyNotHeaders } from "./whyNotHeaders.ts"

const rulesOf = (limits: Limits): HeaderRules => ({
  headersMax: limits.headers,
  bytesMax: limits.headerBytes,
  ownNames: ["traceparent"],
  ownPrefixes: ["webhook-", "punctual-"],
  owner: "the service",
  headersHint: limitHint("headers"),
  bytesHint: limitHint("headerBytes"),
})

export const makeWebhookHeaders = perLimits((limits: Limits) => {
  const rules = rulesOf(limits)
  return Schema.Record(Schema.String, Schema.String.annotate({ message: "must be text" }))
    .annotate({ message: "must be an object of header names and their values" })
    .check(
      Schema.makeFilter((headers: Readonly<Record<string, string>>) => whyNotHeaders(headers, rules), {
        toJsonSchema: () => [{ maxProperties: limits.headers }, true],
        description: `Headers to add: at most ${limits.headers}, with ${limits.headerBytes} bytes in total. Hop-by-hop headers, host, content-length, traceparent, webhook-* and punctual-* cannot be set.`,
      }),
    )
})
