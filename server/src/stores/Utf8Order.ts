// Compares timer ids by their UTF-8 bytes, as databases do. JavaScript compares UTF-16 code units, which puts the
// characters beyond the basic plane (surrogates, 0xD800…) before U+E000…U+FFFF.

export const compareUtf8 = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/**
 * The first string after all strings that begin with `prefix`: the prefix with its last code point incremented.
 * `undefined` if there is none.
 */
export const endOfPrefix = (prefix: string): string | undefined => {
  const points = Array.from(prefix)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0
    if (point === 0x10ffff) continue
    // Surrogates are not characters, so U+E000 follows U+D7FF.
    const next = point === 0xd7ff ? 0xe000 : point + 1
    return points.join("") + String.fromCodePoint(next)
  }
  return undefined
}

/** Moves surrogates above the rest of the basic plane. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
