/** The bytes inside a JSON text, as tables: looking a byte up is faster than comparing it. */

/** 1 for bytes that a text may contain as they are. */
export const plainText = new Uint8Array(256).fill(1, 0x20)
for (const special of '"\\') plainText[special.charCodeAt(0)] = 0

/** 1 for the letters of short escapes. */
export const isEscape = new Uint8Array(256)
for (const letter of '"\\/bfnrt') isEscape[letter.charCodeAt(0)] = 1
