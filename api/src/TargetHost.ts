/** The host of a webhook URL as a filter: a name or an address, with or without a port. */
import { Schema } from "effect"

const hostMessage =
  'must be a host such as "hooks.example.com", "hooks.example.com:8443" or "[::1]:8080", without scheme and path'

/** A name has at most 253 characters, and the port follows. */
const mostChars = 260

/** The host as in a URL, in lower case; `undefined` if the text is not a host. */
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
      "Only timers with a webhook to this host. Without a port every port matches. With a port, the URL must have the same port, or the default port (443 for https, 80 for http) must be the same.",
    examples: ["hooks.example.com"],
  }),
)
