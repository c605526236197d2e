/**
 * The trace that a timer belongs to, as W3C Trace Context writes it in the header `traceparent`. The webhook continues it: same
 * trace id, a span id of its own.
 */
import { Schema } from "effect"

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/u
const traceparentChars = 55

const message =
  "must be a W3C traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, in lower case"

export const Traceparent = Schema.String.annotate({ message }).check(
  Schema.isPattern(pattern, {
    message,
    description:
      "The trace that the timer belongs to. The webhook continues it: same trace id, a new span id. In create the header traceparent does the same; this field has precedence.",
    examples: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
  }),
)

/**
 * What a header says, or nothing if it is not valid: W3C has receivers ignore such a header. Later versions may have more after
 * the four known parts.
 */
export const traceparentOfHeader = (header: string): string | undefined => {
  const known = header.slice(0, traceparentChars)
  if (!pattern.test(known)) return undefined
  if (header.length === traceparentChars) return known
  const isLater = !header.startsWith("00")
  return isLater && header[traceparentChars] === "-" ? known : undefined
}
