// One setting: its name, its default and how its text is read. The readers that several settings share are here, too.
import { resolve } from "node:path"
import { formatDuration, parseDuration } from "@punctual/api/DurationMs"
import { orOf } from "@punctual/api/orOf"
import type { Parsed } from "../ports/Adapter.ts"

export interface Setting<A> {
  readonly name: string
  /** As an operator would write it; shown in the help. */
  readonly byDefault: string
  readonly meaning: string
  readonly parse: (text: string) => Parsed<A>
  /** The value for a log or a message, without credentials. */
  readonly shown: (text: string) => string
}

export const setting = <A>(
  name: string,
  byDefault: string,
  meaning: string,
  parse: (text: string) => Parsed<A>,
  shown = withoutCredentials,
): Setting<A> => ({ name, byDefault, meaning, parse, shown })

/** A password in a URL must not appear in a log, not even for a setting that should have none. */
const withoutCredentials = (text: string): string => text.replace(/:\/\/.*@/s, "://…@")

/** A whole number from `min` to `max`, both included. `why` ends the sentence if the bound needs a reason. */
export const wholeNumber =
  (min: number, max: number, why = "") =>
  (text: string): Parsed<number> => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max
      ? { value }
      : { problem: `must be a whole number from ${min} to ${max}${why}` }
  }

/** A duration from `minMs` to `maxMs`. A number without a unit is in milliseconds. */
export const duration =
  (minMs: number, maxMs: number) =>
  (text: string): Parsed<number> => {
    const isBare = /^\d{1,15}$/.test(text)
    const valueMs = isBare ? Number(text) : parseDuration(text)
    if (valueMs !== undefined && valueMs >= minMs && valueMs <= maxMs) return { value: valueMs }
    const unit = isBare ? ` (a number without a unit means milliseconds, so ${text} means ${text}ms)` : ""
    const examples = durationExamples
      .filter(([, ms]) => ms >= minMs && ms <= maxMs)
      .map(([example]) => example)
    return {
      problem: `must be a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, such as ${orOf(examples.slice(0, 3))}${unit}`,
    }
  }

const durationExamples = [
  ["5s", 5_000],
  ["1h30m", 5_400_000],
  ["250ms", 250],
] as const

/** The path of a file that can be read as what it should contain. */
export const pemFile =
  (read: (file: string) => Parsed<string>) =>
  (file: string): Parsed<string> => {
    const text = read(file)
    return "problem" in text ? text : { value: resolve(file) }
  }
