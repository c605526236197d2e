/**
 * The headers a caller may add to its webhooks. Whatever could split a request, change its framing or pass
 * for one of the service's own headers is refused when the timer is created, not at its first attempt.
 */
import { Schema } from "effect"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Visible ASCII with blanks inside. It leaves out CR, LF and NUL, with which headers are injected. */
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
  // A legal header name, but an object that is assigned this key changes its prototype instead.
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
    // Both are ASCII once they have passed, so characters are bytes.
    headerBytes += name.length + value.length
  }
  if (issues.length > 0) return issues
  return headerBytes > limits.headerBytes
    ? `must be at most ${limits.headerBytes} bytes of names and values in all${limitHint("headerBytes")}`
    : undefined
}

export const makeWebhookHeaders = perLimits((limits: Limits) =>
  Schema.Record(Schema.String, Schema.String.annotate({ message: "must be text" }))
    .annotate({ message: "must be an object of header names and their values" })
    .check(
      Schema.makeFilter((headers: Readonly<Record<string, string>>) => whyNotHeaders(headers, limits), {
        toJsonSchema: () => [{ maxProperties: limits.headers }, true],
        description: `Headers to add, at most ${limits.headers} and ${limits.headerBytes} bytes in all. Hop-by-hop headers, host, content-length, traceparent, webhook-* and punctual-* cannot be set.`,
      }),
    ),
)
