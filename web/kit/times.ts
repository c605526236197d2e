/** Instants and durations as texts. All functions are pure: they get the zone and the time from their caller. */

interface Parts {
  readonly year: string
  readonly month: string
  readonly day: string
  readonly weekday: string
  readonly hour: string
  readonly minute: string
  readonly second: string
}

const formats = new Map<string, Intl.DateTimeFormat>()

const formatOf = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  })
  formats.set(zone, format)
  return format
}

export const partsOf = (atMs: number, zone: string): Parts =>
  Object.fromEntries(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  ) as Record<keyof Parts, string>

/** `2026-11-17` */
export const dayText = (atMs: number, zone: string): string => {
  const { year, month, day } = partsOf(atMs, zone)
  return `${year}-${month}-${day}`
}

/** `09:30:00`, or `09:30:00.250` if there are milliseconds. */
export const clockText = (atMs: number, zone: string): string => {
  const { hour, minute, second } = partsOf(atMs, zone)
  const ms = ((atMs % 1_000) + 1_000) % 1_000
  return `${hour}:${minute}:${second}${ms === 0 ? "" : `.${String(ms).padStart(3, "0")}`}`
}

/** `Tue 2026-11-17 09:30:00` */
export const exactText = (atMs: number, zone: string): string =>
  `${partsOf(atMs, zone).weekday} ${dayText(atMs, zone)} ${clockText(atMs, zone)}`

/** `Tuesday 17 November 2026, 09:00:00` */
export const longText = (atMs: number, zone: string): string =>
  `${new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: zone }).format(atMs)}, ${clockText(atMs, zone)}`

/** As short as the reader can do without: `09:30:00` today, `Tue 17 Nov 09:30` in this year, else with the year. */
export const shortText = (atMs: number, nowMs: number, zone: string): string => {
  if (dayText(atMs, zone) === dayText(nowMs, zone)) return clockText(atMs, zone).slice(0, 8)
  const { weekday, day, month, year, hour, minute } = partsOf(atMs, zone)
  const date = `${weekday} ${day} ${months[Number(month) - 1]}`
  return `${date}${year === partsOf(nowMs, zone).year ? "" : ` ${year}`} ${hour}:${minute}`
}

export const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** The difference between the zone and UTC at this instant, in minutes. */
export const offsetMinutes = (atMs: number, zone: string): number => {
  const { year, month, day, hour, minute, second } = partsOf(atMs, zone)
  const local = Date.UTC(+year, +month - 1, +day, +hour, +minute, +second)
  return Math.round((local - Math.floor(atMs / 1_000) * 1_000) / 60_000)
}

/** `+01:00`, or `Z` for UTC. */
export const offsetText = (atMs: number, zone: string): string => {
  const minutes = offsetMinutes(atMs, zone)
  if (minutes === 0) return "Z"
  const size = Math.abs(minutes)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** The last part of a zone's name, where the whole has no room. */
export const cityOf = (zone: string): string => zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ")

/** What a local time means in a zone. When clocks change, a local time may occur twice, or never. */
export interface LocalTime {
  readonly occurs: "once" | "twice" | "never"
  /** The instant. If it occurs twice, the first. If clocks skip it, the instant that is as long after the skip. */
  readonly atMs: number
  /** The second instant of a local time that occurs twice. */
  readonly laterMs?: number
}

/** `undefined` if the texts are not a day and a time of day, such as `2026-11-17` and `9`, `9:30`, `0930` or `09:30:00.250`. */
export const readLocalTime = (zone: string, day: string, clock: string): LocalTime | undefined => {
  const [, hour, minute = "00", second = "00", fraction = ""] =
    /^(\d{1,2})(?::?(\d{2}))?$/.exec(clock) ?? /^(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?$/.exec(clock) ?? []
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || hour === undefined) return undefined
  const wanted = Date.parse(`${day}T${hour.padStart(2, "0")}:${minute}:${second}Z`)
  if (Number.isNaN(wanted) || new Date(wanted).toISOString().slice(0, 10) !== day) return undefined
  const ms = fraction === "" ? 0 : Number(fraction.padEnd(3, "0"))
  // The offset before and the offset after a change of the clocks are the only two that can be right.
  const dayMs = 86_400_000
  const offsets = [offsetMinutes(wanted - dayMs, zone), offsetMinutes(wanted + dayMs, zone)] as const
  const [before, after] = [wanted - offsets[0] * 60_000, wanted - offsets[1] * 60_000]
  const isRight = (at: number) => at + offsetMinutes(at, zone) * 60_000 === wanted
  if (!isRight(before) && !isRight(after)) return { occurs: "never", atMs: before + ms }
  if (before === after || !isRight(before) || !isRight(after)) {
    return { occurs: "once", atMs: (isRight(before) ? before : after) + ms }
  }
  return { occurs: "twice", atMs: Math.min(before, after) + ms, laterMs: Math.max(before, after) + ms }
}

/** The instant at which clocks in the zone show this local time. */
export const instantIn = (zone: string, day: string, clock: string): number | undefined =>
  readLocalTime(zone, day, clock)?.atMs

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

/** The day that is so many days later. Days of the calendar, because not every day has 24 hours. */
export const laterDay = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)

/** How many days it is to the next Monday, from 1 to 7. */
export const daysToMonday = (atMs: number, zone: string): number =>
  (8 - weekdays.indexOf(partsOf(atMs, zone).weekday)) % 7 || 7

/** ISO 8601 with the offset of the zone: `2026-11-18T09:00:00+01:00`. */
export const isoText = (atMs: number, zone: string): string => {
  const text = `${dayText(atMs, zone)}T${clockText(atMs, zone)}${offsetText(atMs, zone)}`
  // Long ago, zones had offsets with seconds, which the form does not have.
  return Date.parse(text) === atMs ? text : new Date(atMs).toISOString()
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const

/** The two largest units: `3 d 4 h`, `2 m 5 s`, `250 ms`. */
export const durationText = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000 && ms % 1_000 !== 0) return `${(ms / 1_000).toFixed(1)} s`
  let rest = Math.round(ms / 1_000) * 1_000
  const parts: Array<string> = []
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size)
    if (count > 0) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
    rest -= count * size
    if (parts.length === 2) break
  }
  return parts.join(" ")
}

/** `in 3 d 4 h`, `5 s ago`, `now`. */
export const relativeText = (atMs: number, nowMs: number): string => {
  const ms = atMs - nowMs
  if (Math.abs(ms) < 1_000) return "now"
  const whole = durationText(Math.floor(Math.abs(ms) / 1_000) * 1_000)
  return ms > 0 ? `in ${whole}` : `${whole} ago`
}
