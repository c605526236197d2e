// Numbers for people: counts with thousands separators, bytes and durations in a fitting unit.

export const countShown = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",")

/** A count with its noun in singular or plural: `1 timer`, `1,234 timers`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${countShown(count)} ${count === 1 ? one : many}`

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const

export const bytesShown = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 1024 ** power
  return `${power === 0 ? String(amount) : amount.toFixed(1)} ${byteUnits[power]}`
}

const spans = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const

/** The largest unit and the next one: 3 d 4 h, 2 min 5 s. Below ten seconds: 1.9 s. Below one second: milliseconds. */
export const spanShown = (spanMs: number): string => {
  if (spanMs >= 1_000 && spanMs < 10_000) return `${Math.floor(spanMs / 100) / 10} s`
  const index = spans.findIndex(([, unitMs]) => spanMs >= unitMs)
  const [unit, unitMs] = spans[index] ?? ["ms", 1]
  const whole = Math.floor(spanMs / unitMs)
  const [nextUnit, nextMs] = spans[index + 1] ?? ["", 0]
  const rest = index < 0 || nextMs === 0 ? 0 : Math.floor((spanMs - whole * unitMs) / nextMs)
  const shown = `${countShown(whole)} ${unit}`
  return rest === 0 ? shown : `${shown} ${rest} ${nextUnit}`
}
