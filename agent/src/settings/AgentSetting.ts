// One setting of the agent: its name, its default and how its text is read. The rules are those of the Timer's settings.
import { resolve } from "node:path"
import { formatDuration, parseDuration } from "@punctual/api/DurationMs"

/** What a text means. `problem` is the end of a sentence that begins with the setting's name. */
export type ReadText<A> = { readonly value: A } | { readonly problem: string; readonly isWhole?: boolean }

export interface AgentSetting<A> {
  readonly name: string
  /** As an operator would write it; shown in the help. An empty text means that the setting may stay unset. */
  readonly byDefault: string
  readonly meaning: string
  readonly read: (text: string) => ReadText<A>
  /** The value for a log or a message, without credentials. */
  readonly shown: (text: string) => string
}

export const agentSetting = <A>(
  name: string,
  byDefault: string,
  meaning: string,
  read: (text: string) => ReadText<A>,
  shown = withoutCredentials,
): AgentSetting<A> => ({ name, byDefault, meaning, read, shown })

/** A password in a URL must not appear in a log. */
const withoutCredentials = (text: string): string => text.replace(/:\/\/.*@/s, "://…@")

export const readWholeNumber =
  (min: number, max: number) =>
  (text: string): ReadText<number> => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max
      ? { value }
      : { problem: `must be a whole number from ${min} to ${max}` }
  }

/** A number without a unit is in milliseconds. */
export const readDuration =
  (minMs: number, maxMs: number, example: string) =>
  (text: string): ReadText<number> => {
    const valueMs = /^\d{1,15}$/.test(text) ? Number(text) : parseDuration(text)
    return valueMs !== undefined && valueMs >= minMs && valueMs <= maxMs
      ? { value: valueMs }
      : {
          problem: `must be a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, such as ${example}`,
        }
  }

export const readOneOf =
  <const A extends string>(...values: ReadonlyArray<A>) =>
  (text: string): ReadText<A> => {
    const value = values.find((known) => known === text)
    return value === undefined ? { problem: `must be one of ${values.join(", ")}` } : { value }
  }

export const readPath = (text: string): ReadText<string> =>
  text.trim() === "" ? { problem: "must name a file" } : { value: resolve(text) }

const entriesMax = 100

/** A list with commas. An empty text is an empty list. */
export const readList =
  <A>(what: string, readEntry: (entry: string) => A | undefined) =>
  (text: string): ReadText<ReadonlyArray<A>> => {
    const entries = text === "" ? [] : text.split(",").map((entry) => entry.trim())
    const values = entries.flatMap((entry) => readEntry(entry) ?? [])
    return values.length === entries.length && values.length <= entriesMax
      ? { value: values }
      : { problem: `must be at most ${entriesMax} ${what}` }
  }
