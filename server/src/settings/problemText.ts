// One sentence about a setting whose value is wrong.
import type { Wrong } from "../ports/Adapter.ts"

/** The file that a setting with `_FILE` at its end names. */
export interface SecretFile {
  readonly setting: string
  readonly path: string
}

/** Shows the value, unless it comes from a file: such a file may contain a secret, also if it is the wrong file. */
export const problemText = (name: string, wrong: Wrong, shown: string, file?: SecretFile): string => {
  const { problem, guess, isWhole = false } = wrong
  if (file !== undefined) return `${file.setting}: the content of ${file.path} ${problem}.`
  if (isWhole) return `${name}: ${problem}`
  const likely = guess === undefined ? "" : `, so most likely ${guess}`
  const itIs = shown === "…" ? "." : `; it is ${JSON.stringify(shown.slice(0, shownMostChars))}.`
  return `${name} ${problem}${likely}${itIs}`
}

const shownMostChars = 100
