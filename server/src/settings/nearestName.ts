// Finds the setting that a misspelt name means.
import { settingNames } from "./Settings.ts"

/** The known name that is at most two typing errors away, or one for a short name. */
export const nearestName = (name: string): string | undefined => {
  const upper = name.toUpperCase()
  let nearest: string | undefined
  let nearestSlips = 3
  for (const known of settingNames) {
    const slips = slipsBetween(upper, known)
    const allowed = known.length - "TIMER_".length > 4 ? 2 : 1
    if (slips <= allowed && slips < nearestSlips) {
      nearest = known
      nearestSlips = slips
    }
  }
  return nearest
}

/** The number of letters to add, remove, change or swap with a neighbour to get from one name to the other. */
const slipsBetween = (a: string, b: string): number => {
  const rows: Array<Array<number>> = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row++) {
    rows.push([row])
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const slips = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
      rows[row]?.push(slips)
    }
  }
  return at(a.length, b.length)
}
