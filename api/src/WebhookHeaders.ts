/**
 * The headers that a caller may add to its webhooks. A header that could split a request, change its framing or look
 * like one of the service's own headers is refused when the timer is created, and not only at its first attempt.
 */
import { Schema } from "effect"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

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
  "traceparent",
  // This is a legal header name, but assigning it to an object would change the prototype of the object.
  "__proto__",
])
const notSettablePrefixes = ["proxy-", "webhook-", "punctual-"]

const whyNotName = (name: string, lowerCaseName: string): string | undefined => {
  if (!token.test(name)) return "must be an HTTP header name: letters, digits and - with no blanks"
  return notSettable.has(lowerCaseName) ||
    notSettablePrefixes.some((prefix) => lowerCaseName.startsWith(prefix))
    ? "cannot be set: the service or the connection sets it"
    : undefined
}

const whyNotHeaders = (headers: Readonly<Record<string, string>>, limits: Limits): Schema.FilterOutput => {
  const names = Object.keys(headers)
  if (names.length > limits.headers)
    return `must have at most ${limits.headers} headers${limitHint("headers")}`
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
  return headerBytes > limits.headerBytes
    ? `must be at most ${limits.headerBytes} bytes of names and values in total${limitHint("headerBytes")}`
    : undefined
}

export const makeWebhookHeaders = perLimits((limits: Limits) =>
  Schema.Record(Schema.String, Schema.String.annotate({ message: "must be text" }))
    .annotate({ message: "must be an object of header names and their values" })
    .check(
      Schema.makeFilter((headers: Readonly<Record<string, string>>) => whyNotHeaders(headers, limits), {
        toJsonSchema: () => [{ maxProperties: limits.headers }, true],
        description: `Headers to add: at most ${limits.headers}, with ${limits.headerBytes} bytes in total. Hop-by-hop headers, host, content-length, traceparent, webhook-* and punctual-* cannot be set.`,
      }),
    ),
)
