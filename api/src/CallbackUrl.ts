/**
 * The URL of a webhook. The service stores the text unchanged and parses it again at each attempt. Parsers disagree
 * about credentials, backslashes, blanks and other alphabets, so all of these are refused here. The egress rules decide
 * which addresses may be reached, at the create as far as no lookup is needed, and at each attempt.
 */
import { Schema } from "effect"
import { type Limits, limitHint } from "./Limits.ts"
import { perLimits } from "./perLimits.ts"

const visibleAscii = /^[!-~]+$/
const httpWithAuthority = /^https?:\/\/([^/?#\\]+)/i

/** What is wrong with the URL of a request to somebody else's service. `hint` names the setting of the limit. */
export const whyNotHttpUrl = (text: string, charsMax: number, hint = ""): string | undefined => {
  if (text.length > charsMax) return `must be at most ${charsMax} characters long${hint}`
  if (!visibleAscii.test(text)) {
    const host = hostInAscii(text)
    if (host !== undefined)
      return `must have a host of ASCII characters: write the host in its ASCII form, ${host}`
    return "must be visible ASCII without spaces or control characters: percent-encode the rest"
  }
  const authority = httpWithAuthority.exec(text)?.[1]
  if (authority === undefined || text.includes("\\")) return urlMessage
  if (authority.includes("@")) return "must not contain credentials: send them in a header"
  if (text.includes("#")) return "must not contain a fragment: it is never sent"
  if (URL.canParse(text)) return undefined
  const port = /:(\d+)$/.exec(authority)?.[1]
  return port !== undefined && Number(port) > portMax ? `must have a port of at most ${portMax}` : urlMessage
}

const portMax = 65_535

/** The ASCII form (xn--…) of a host with letters of other alphabets; `undefined` if the host has none. */
const hostInAscii = (text: string): string | undefined => {
  const authority = httpWithAuthority.exec(text)?.[1] ?? ""
  return /[\u0080-\uffff]/.test(authority) ? URL.parse(text)?.hostname : undefined
}

const urlMessage = "must be an absolute http or https URL, such as https://example.com/hook"

/** Every create checks a URL, so this text is made only once. */
const lengthHint = limitHint("urlLength")

export const makeCallbackUrl = perLimits((limits: Limits) =>
  Schema.String.annotate({ message: urlMessage }).check(
    Schema.makeFilter((text: string) => whyNotHttpUrl(text, limits.urlLength, lengthHint), {
      toJsonSchema: () => [
        {
          minLength: 1,
          maxLength: limits.urlLength,
          pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
          format: "uri",
        },
        true,
      ],
      description: "An absolute http or https URL without credentials or fragment.",
      examples: ["https://example.com/hooks/timer"],
    }),
  ),
)
