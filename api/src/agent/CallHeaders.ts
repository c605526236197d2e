/**
 * The headers of a service call. A header that could split the request, change its framing or replace a header of the
 * agent is refused when the call is submitted, and not only when it is made.
 */
import { Schema } from "effect"
import { callLimits } from "./callLimits.ts"

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Visible ASCII with blanks inside. It excludes CR, LF and NUL, which could inject headers. */
const fieldValue = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/

const notSettable = new Set([
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
  // The agent sends the id of the attempt in it.
  "idempotency-key",
  // This is a legal header name, but assigning it to an object would change the prototype of the object.
  "__proto__",
])

const whyNotName = (name: string, lowerCaseName: string): string | undefined => {
  if (!token.test(name)) return "must be an HTTP header name: letters, digits and - with no blanks"
  return notSettable.has(lowerCaseName) || lowerCaseName.startsWith("proxy-")
    ? "cannot be set: the agent or the connection sets it"
    : undefined
}

const whyNotHeaders = (headers: Readonly<Record<string, string>>): Schema.FilterOutput => {
  const names = Object.keys(headers)
  if (names.length > callLimits.headers) return `must have at most ${callLimits.headers} headers`
  const issues: Array<Schema.FilterIssue> = []
  const seen = new Set<string>()
  let headerBytes = 0
  for (const name of names) {
    const value = headers[name] ?? ""
    const lowerCaseName = name.toLowerCase()
    const issue =
      whyNotName(name, lowerCaseName) ??
      (seen.has(lowerCaseName) ? "is given twice: header names do not differ by case" : undefined) ??
      (fieldValue.test(value) ? undefined : "must be visible ASCII, with blanks only inside")
    if (issue !== undefined) issues.push({ path: [name], issue })
    seen.add(lowerCaseName)
    // Names and values that passed the checks are ASCII, so each character is one byte.
    headerBytes += name.length + value.length
  }
  if (issues.length > 0) return issues
  return headerBytes > callLimits.headerBytes
    ? `must be at most ${callLimits.headerBytes} bytes of names and values in total`
    : undefined
}

export const CallHeaders = Schema.Record(Schema.String, Schema.String.annotate({ message: "must be text" }))
  .annotate({ message: "must be an object of header names and their values" })
  .check(
    Schema.makeFilter(whyNotHeaders, {
      toJsonSchema: () => [{ maxProperties: callLimits.headers }, true],
      description: `At most ${callLimits.headers} headers, with ${callLimits.headerBytes} bytes in total. Hop-by-hop headers, host, content-length, expect, proxy-* and idempotency-key cannot be set.`,
      examples: [{ "x-team": "billing" }],
    }),
  )
