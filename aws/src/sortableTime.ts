// Times as texts that sort like the times, for the keys of items. Further text may follow.

const width = 16

/** A text that sorts like the time. Times before 1970 begin with 0, the others with 1. */
export const timeText = (ms: number): string => {
  const whole = Math.min(Math.max(Math.ceil(ms), -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
  return whole < 0 ? `0${padded(whole + Number.MAX_SAFE_INTEGER)}` : `1${padded(whole)}`
}

/** A whole number that is not negative. */
export const padded = (value: number): string => String(value).padStart(width, "0")

export const timeOfText = (text: string): number => {
  const value = Number(text.slice(1, width + 1))
  return text.startsWith("0") ? value - Number.MAX_SAFE_INTEGER : value
}

export const afterTime = (text: string): string => text.slice(width + 1)

/** Sorts after all characters of times and ids. */
export const beyond = "~"
