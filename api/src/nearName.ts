/** Finds the known name that a caller probably meant, for errors that say "did you mean". */

/**
 * The names may differ in case, and in a part of at most two letters (one for short names): a letter too many, one
 * missing, one wrong, or two swapped. This needs no table of letters, because one request may have many wrong names.
 */
export const nearName = (name: string, known: ReadonlyArray<string>): string | undefined =>
  known.find((candidate) => isNear(name.toLowerCase(), candidate.toLowerCase()))

const isNear = (a: string, b: string): boolean => {
  const shorter = Math.min(a.length, b.length)
  const allowed = shorter > 4 ? 2 : 1
  const longer = Math.max(a.length, b.length)
  if (longer - shorter > allowed) return false
  let same = 0
  while (same < shorter && a[same] === b[same]) same++
  let sameAtEnd = 0
  while (sameAtEnd < shorter - same && a.at(-1 - sameAtEnd) === b.at(-1 - sameAtEnd)) sameAtEnd++
  return longer - same - sameAtEnd <= allowed
}
