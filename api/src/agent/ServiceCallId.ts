/**
 * The id of a service call, unique in its tenant. The ids of the call's timers are this id, `~` and a suffix. So the id
 * is shorter than the id of a timer and has no `~`. The id is also a part of paths, in which `bulk` has another meaning.
 */
import { Schema } from "effect"
import { whyNotWord } from "../TimerId.ts"
import { visiblePattern, whyNotVisible } from "../whyNotVisible.ts"
import { callLimits } from "./callLimits.ts"

const reserved = "bulk"

const message = `must be text of 1 to ${callLimits.idBytes} bytes of UTF-8 without control characters and without ~`

const whyNotCallId = (text: string): string | undefined =>
  whyNotWord(text, callLimits.idBytes, message) ??
  whyNotVisible(text) ??
  (text.includes("~") ? "must not contain ~, which is reserved for the timers of the call" : undefined) ??
  (text === reserved ? `must not be ${reserved}, which is reserved for changes of many calls` : undefined)

export const ServiceCallId = Schema.String.annotate({ message }).check(
  Schema.makeFilter(whyNotCallId, {
    toJsonSchema: () => [
      {
        minLength: 1,
        maxLength: callLimits.idBytes,
        pattern: visiblePattern,
        not: { pattern: `~|^${reserved}$` },
      },
      true,
    ],
    description: `The id of the call, unique in its tenant: 1 to ${callLimits.idBytes} bytes of UTF-8 without control, invisible or formatting characters, without ~, not only spaces, and not ${reserved}.`,
    examples: ["invoice-4711"],
  }),
)
