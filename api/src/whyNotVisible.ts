/**
 * Refuses texts that a person cannot read as they are: with invisible characters, or with characters that change the
 * direction of the text around them. Two ids that look the same must be the same. The rule is only for ids that callers
 * make new. Ids that are stored already stay readable and can be cancelled.
 */

/** Unicode names these: controls, format characters (bidi, zero width, BOM), line and paragraph separators, fillers. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const blankOnly = /^[\p{White_Space}\u2800]+$/u

/** What is wrong with a text that a caller makes new; `undefined` if a person can read it. */
export const whyNotVisible = (text: string): string | undefined => {
  if (isPlain(text)) return undefined
  if (blankOnly.test(text)) return "must not consist of spaces only"
  const character = hidden.exec(text)?.[0].codePointAt(0)
  return character === undefined
    ? undefined
    : `must not contain control, invisible or formatting characters: remove ${codePoint(character)}`
}

/** Most ids have visible ASCII only. This check is much faster than the expressions. */
const isPlain = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return true
}

/** How Unicode writes a character. */
export const codePoint = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`

/**
 * The same rule for readers of the OpenAPI document: a text of visible characters, at least one of them not blank.
 * Characters above U+FFFF are missing, because not all regular expression engines write them in the same way. Nearly
 * all engines know the escapes `\\x` and `\\u`.
 */
const hiddenRanges =
  "\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2\\u115f-\\u1160\\u17b4-\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb"
const blankRanges = "\\x20\\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000"
export const visiblePattern = `^[^${hiddenRanges}]*[^${hiddenRanges}${blankRanges}][^${hiddenRanges}]*$`
