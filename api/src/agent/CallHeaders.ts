/**
 * The headers of a service call. A header that could split the request, change its framing or replace a header of the
 * agent is refused when the call is submitted, and not only when it is made.
 */
import { Schema } from "effect"
import { type HeaderRules, whyNotHeaders } from "../whyNotHeaders.ts"
import { callLimits } from "./callLimits.ts"

const rules: HeaderRules = {
  headersMax: callLimits.headers,
  bytesMax: callLimits.headerBytes,
  // The agent sends the id of the attempt in idempotency-key.
  ownNames: ["expect", "idempotency-key"],
  ownPrefixes: [],
  owner: "the agent",
  headersHint: "",
  bytesHint: "",
}

export const CallHeaders = Schema.Record(Schema.String, Schema.String.annotate({ message: "must be text" }))
  .annotate({ message: "must be an object of header names and their values" })
  .check(
    Schema.makeFilter((headers: Readonly<Record<string, string>>) => whyNotHeaders(headers, rules), {
      toJsonSchema: () => [{ maxProperties: callLimits.headers }, true],
      description: `At most ${callLimits.headers} headers, with ${callLimits.headerBytes} bytes in total. Hop-by-hop headers, host, content-length, expect, proxy-* and idempotency-key cannot be set.`,
      examples: [{ "x-team": "billing" }],
    }),
  )
