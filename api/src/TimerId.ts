/**
 * The caller's id of a timer, unique in its namespace. Its limit is in bytes because stores index bytes. Control
 * characters are refused because ids appear in logs, headers and subjects. Lone surrogates are refused because they
 * have no UTF-8 form, so two different ids would be stored as one.
 */
import { Schema } from "effect"
import { codePoint, visiblePattern, whyNotVisible } from "./whyNotVisible.ts"

export const timerIdBytes = 255

/**
 * No control characters, for readers of the OpenAPI document. Every regular expression engine knows the escape `\\x`.
 */
export const idPattern = "^[^\\x00-\\x1f\\x7f-\\x9f]+$"

/** What is wrong with an id of a caller; `undefined` if it is valid. */
export const whyNotId = (text: string): string | undefined => whyNotWord(text, timerIdBytes, idMessage)

/** The same for any short text of a caller. `message` is for a text that is empty or too long. */
export const whyNotWord = (text: string, mostBytes: number, message: string): string | undefined => {
  const lengthChars = text.length
  // A character has at least one byte, so this check limits the loop below.
  if (lengthChars === 0 || lengthChars > mostBytes) return message
  let bytes = 0
  for (let at = 0; at < lengthChars; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
      return `must not contain control characters: remove ${codePoint(code)}`
    if (code < 0x80) bytes += 1
    else if (code < 0x800) bytes += 2
    else if (code < 0xd800 || code > 0xdfff) bytes += 3
    else {
      const next = text.charCodeAt(at + 1)
      if (code > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return "must not contain lone surrogates"
      bytes += 4
      at++
    }
  }
  return bytes > mostBytes ? message : undefined
}

export const idMessage = `must be text of 1 to ${timerIdBytes} bytes of UTF-8 without control characters`

export const TimerId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      toJsonSchema: () => [{ minLength: 1, maxLength: timerIdBytes, pattern: idPattern }, true],
      description:
        "The caller's id of the timer, unique in its namespace. 1 to 255 bytes of UTF-8 without control characters.",
      examples: ["invoice-4711-reminder"],
    }),
  )
  .pipe(Schema.brand("TimerId"))

export type TimerId = typeof TimerId.Type

/** The call of `onDead` is itself a timer. Its id is this, and the fireId of the arming that died. */
export const deadIdPrefix = "_dead."

/** What is wrong with the id of a new timer; `undefined` if it is valid. */
export const whyNotNewId = (text: string): string | undefined =>
  whyNotId(text) ??
  whyNotVisible(text) ??
  (text.startsWith(deadIdPrefix)
    ? `must not begin with ${deadIdPrefix}, which is reserved for calls of onDead`
    : undefined)

/**
 * The id of a timer that a caller creates. Its rule is stricter than that of `TimerId`. Timers that the service made, or
 * that an earlier version accepted, can be read, changed and cancelled by their ids.
 */
export const NewTimerId = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotNewId, {
      toJsonSchema: () => [
        { minLength: 1, maxLength: timerIdBytes, pattern: visiblePattern, not: { pattern: "^_dead\\." } },
        true,
      ],
      description:
        "The caller's id of the timer, unique in its namespace. 1 to 255 bytes of UTF-8 without control, invisible or formatting characters, and not only spaces.",
      examples: ["invoice-4711-reminder"],
    }),
  )
  .pipe(Schema.brand("TimerId"))
