/**
 * Instants on the wire are ISO 8601 text with an offset. In the program they are whole milliseconds since the epoch.
 * This file reads the text digit by digit and does not use `Date.parse`, which accepts local times, rolls impossible
 * dates over (30 February becomes 2 March) and cuts fractions off. A timer must not fire before the requested instant,
 * so fractions of a millisecond round up.
 */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"

const instantForm = "an instant with an offset, such as 2030-01-01T09:00:00Z"
const instantMessage = `must be ${instantForm}`

/** The form of an instant, for readers of the OpenAPI document. It does not check the number of days in a month. */
export const instantPattern =
  "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2})$"

/** 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: other years need the expanded form of ISO 8601. */
const minInstantMs = -62_167_219_200_000
const maxInstantMs = 253_402_300_799_999

/**
 * Reads `YYYY-MM-DDTHH:MM[:SS[.fraction]]` followed by `Z` or `±HH:MM`, with at most nine digits of
 * fraction. Seconds may be left out because common libraries print whole minutes that way.
 */
export const parseInstant = (text: string): number | undefined => {
  const lengthChars = text.length
  if (lengthChars < 17 || lengthChars > 35) return undefined
  const minute = digits(text, 14, 2)
  if (minute < 0 || text.charCodeAt(13) !== COLON) return undefined
  let at = 16
  let second = 0
  let fractionMs = 0
  if (text.charCodeAt(at) === COLON) {
    second = digits(text, at + 1, 2)
    at += 3
    if (text.charCodeAt(at) === DOT) {
      const end = endOfDigits(text, at + 1)
      fractionMs = fractionToMs(text, at + 1, end)
      at = end
    }
  }
  const offsetMinutes = offsetAt(text, at)
  const dayNumber = dayNumberOf(text)
  const hour = text.charCodeAt(10) === LETTER_T ? digits(text, 11, 2) : -1
  if (dayNumber === undefined || offsetMinutes === undefined) return undefined
  if (hour < 0 || hour > 23 || minute > 59 || second < 0 || second > 59 || fractionMs < 0) return undefined
  const minutes = dayNumber * 1440 + hour * 60 + minute - offsetMinutes
  const instantMs = minutes * 60_000 + second * 1000 + fractionMs
  return isInstant(instantMs) ? instantMs : undefined
}

/**
 * The end of a message that begins with "must be", for a text that is not an instant. The message names the wrong part:
 * 2030-02-30T00:00:00Z looks like an instant with an offset, so a general message would not help.
 */
export const whyNoInstant = (text: string): string => {
  const [, year, month, day, hour, minute, second, offset] = instantParts.exec(text) ?? []
  if (year === undefined) return instantForm
  const monthName = monthNames[Number(month) - 1]
  if (monthName === undefined) return `${existing}: months go from 01 to 12`
  const days = daysOf(Number(year), Number(month))
  if (Number(day) < 1 || Number(day) > days) return `${existing}: ${monthName} ${year} has ${days} days`
  if (Number(hour) > 23) return `${existing}: hours go from 00 to 23`
  if (Number(minute) > 59) return `${existing}: minutes go from 00 to 59`
  if (Number(second) > 59) return `${existing}: seconds go from 00 to 59`
  return offset === "" ? `${instantForm}: its offset is missing` : instantForm
}

const existing = "an instant that exists"

/** Less strict than `parseInstant`: it also accepts a day without a time, and a missing offset. */
const instantParts =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}|))?$/

const monthNames = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const

/** UTC with milliseconds. The service writes all instants in this form. */
export const formatInstant = (instantMs: number): string => new Date(instantMs).toISOString()

export const isInstant = (value: number): boolean =>
  Number.isInteger(value) && value >= minInstantMs && value <= maxInstantMs

const InstantText = Schema.String.annotate({
  message: instantMessage,
  format: "date-time",
  description: "ISO 8601 with an offset (Z or ±hh:mm). Fractions of a millisecond round up.",
  examples: ["2030-01-01T09:00:00.000Z"],
})

/** Decodes to whole milliseconds since the epoch, encodes to UTC text. */
export const Instant = InstantText.pipe(
  Schema.decodeTo(
    Schema.Number.check(
      Schema.makeFilter((value: number) => (isInstant(value) ? undefined : instantMessage)),
    ),
    {
      decode: SchemaGetter.transformEffect((text: string) => {
        const instantMs = parseInstant(text)
        return instantMs === undefined
          ? Effect.fail(new SchemaIssue.InvalidValue({ message: `must be ${whyNoInstant(text)}` }))
          : Effect.succeed(instantMs)
      }),
      encode: SchemaGetter.transform(formatInstant),
    },
  ),
)

const ZERO = 48
const NINE = 57
const PLUS = 43
const MINUS = 45
const DOT = 46
const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90

/** The number in the `count` digits from `start`; -1 if one of them is not a digit. */
const digits = (text: string, start: number, count: number): number => {
  let value = 0
  for (let at = start; at < start + count; at++) {
    const code = text.charCodeAt(at)
    if (!(code >= ZERO && code <= NINE)) return -1
    value = value * 10 + (code - ZERO)
  }
  return value
}

const endOfDigits = (text: string, start: number): number => {
  let at = start
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE) at++
  return at
}

/** The milliseconds of a fraction of a second, rounded up; -1 if it has no digit or more than nine. */
const fractionToMs = (text: string, start: number, end: number): number => {
  const count = end - start
  if (count < 1 || count > 9) return -1
  // Whole nanoseconds keep the rounding exact: 0.001 s has no exact binary form.
  return Math.ceil((digits(text, start, count) * 10 ** (9 - count)) / 1_000_000)
}

/** The offset at the end of the text, in minutes east of UTC. */
const offsetAt = (text: string, at: number): number | undefined => {
  const code = text.charCodeAt(at)
  if (code === LETTER_Z) return text.length === at + 1 ? 0 : undefined
  if ((code !== PLUS && code !== MINUS) || text.length !== at + 6) return undefined
  const hours = digits(text, at + 1, 2)
  const minutes = digits(text, at + 4, 2)
  if (text.charCodeAt(at + 3) !== COLON || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
    return undefined
  }
  return code === PLUS ? hours * 60 + minutes : -(hours * 60 + minutes)
}

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const daysOf = (year: number, month: number): number => {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && isLeap ? 29 : (daysInMonth[month - 1] ?? 0)
}

/** Days from 1970-01-01 to the date that begins the text, in the proleptic Gregorian calendar. */
const dayNumberOf = (text: string): number | undefined => {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  if (text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS) return undefined
  if (year < 0 || month < 1 || month > 12 || day < 1) return undefined
  if (day > daysOf(year, month)) return undefined
  // If years begin in March, the leap day is the last day, so one formula fits every month.
  // `Date.UTC` cannot be used here: it reads the years 0 to 99 as 1900 to 1999.
  const marchYear = month > 2 ? year : year - 1
  const marchMonth = month > 2 ? month - 3 : month + 9
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
  return marchYear * 365 + leapDays + Math.floor((153 * marchMonth + 2) / 5) + day - 1 - 719_468
}
