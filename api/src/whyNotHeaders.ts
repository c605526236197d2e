/**
 * Why headers that a caller wants to add to a request are refused. A header that could split the request or change its
 * framing is refused when it is given, and not only when the request is made.
 */
import type { Schema } from "effect"

export interface HeaderRules {
  readonly headersMax: number
  readonly bytesMax: number
  /** Names that the product sets itself, in lower case, beside those that no caller may set. */
  readonly ownNames: ReadonlyArray<string>
  readonly ownPrefixes: ReadonlyArray<string>
  /** Who sets them: "the service". */
  readonly owner: string
  /** What the texts about the limits end with, such as how to change them. */
  readonly headersHint: string
  readonly bytesHint: string
}

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
  // This is a legal header name, but assigning it to an object would change the prototype of the object.
  "__proto__",
])
const notSettablePrefix = "proxy-"

export const whyNotHeaders = (
  headers: Readonly<Record<string, string>>,
  rules: HeaderRules,
): Schema.FilterOutput => {
  const names = Object.keys(headers)
  if (names.length > rules.headersMax)
    return `must have at most ${rules.headersMax} headers${rules.headersHint}`
  const issues: Array<Schema.FilterIssue> = []
  const seen = new Set<string>()
  let headerBytes = 0
  for (const name of names) {
    const value = headers[name] ?? ""
    const lowerCaseName = name.toLowerCase()
    const issue =
      whyNotName(name, lowerCaseName, rules) ??
      (seen.has(lowerCaseName) ? "is given twice: header names do not differ by case" : undefined) ??
      (fieldValue.test(value) ? undefined : "must be visible ASCII, with blanks only inside")
    if (issue !== undefined) issues.push({ path: [name], issue })
    seen.add(lowerCaseName)
    // Names and values that passed the checks are ASCII, so each character is one byte.
    headerBytes += name.length + value.length
  }
  if (issues.length > 0) return issues
  return headerBytes > rules.bytesMax
    ? `must be at most ${rules.bytesMax} bytes of names and values in total${rules.bytesHint}`
    : undefined
}

const whyNotName = (
  name: string,
  lowerCaseName: string,
  { ownNames, ownPrefixes, owner }: HeaderRules,
): string | undefined => {
  if (!token.test(name)) return "must be an HTTP header name: letters, digits and - with no blanks"
  const isSet =
    notSettable.has(lowerCaseName) ||
    ownNames.includes(lowerCaseName) ||
    [notSettablePrefix, ...ownPrefixes].some((prefix) => lowerCaseName.startsWith(prefix))
  return isSet ? `cannot be set: ${owner} or the connection sets it` : undefined
}
