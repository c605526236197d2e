/** The host of a webhook URL, to find timers by: a name or an address, with a port or without. */
import { Schema } from "effect"

const hostMessage =
  'must be a host such as "hooks.example.com", "hooks.example.com:8443" or "[::1]:8080", without scheme and path'

/** A name has 253 characters at most; the port follows. */
const mostChars = 260

/** The host as URLs have it, in lower case; nothing if the text is none. */
export const canonicalHost = (text: string): string | undefined => {
  if (text.length > mostChars) return undefined
  const [, name = "", port] = /^([^\s/?#@\\:]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?$/.exec(text) ?? []
  if (name === "" || !URL.canParse(`http://${name}`) || Number(port ?? 0) > 65_535) return undefined
  const { hostname } = new URL(`http://${name}`)
  return port === undefined ? hostname : `${hostname}:${Number(port)}`
}

export const TargetHost = Schema.String.annotate({ message: hostMessage }).check(
  Schema.makeFilter((text: string) => (canonicalHost(text) === undefined ? hostMessage : undefined), {
    toJsonSchema: () => [{ minLength: 1, maxLength: mostChars }, true],
    description:
      "Only webhooks to this host. Without a port every port matches; with one the URL must have it, or have it by default (443 for https, 80 for http).",
    examples: ["hooks.example.com"],
  }),
)
