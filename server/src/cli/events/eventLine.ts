// An event as a line: for people, or as JSON for a program.
import { TimerEventData } from "@punctual/api/TimerEvents"
import { Option, Schema } from "effect"
import type { EventBlock } from "./EventBlocks.ts"

const Skipped = Schema.Struct({ counts: Schema.Record(Schema.String, Schema.Number) })
const Nodes = Schema.Struct({ missing: Schema.Array(Schema.String) })

const typeChars = 9

/** A line of JSON: the fields of the event, and what it is. */
export const eventJson = ({ event, data }: EventBlock): string => {
  const fields = parsed(data)
  return JSON.stringify({ event, ...(typeof fields === "object" ? fields : {}) })
}

/** A line for people; `undefined` for an event of a later version that is not about a timer. */
export const eventLine = ({ event, data }: EventBlock): string | undefined => {
  const fields = parsed(data)
  const timer = Schema.decodeUnknownOption(TimerEventData)(fields)
  if (Option.isSome(timer)) {
    const { at, namespace, timerId, state } = timer.value
    return `${at}  ${event.padEnd(typeChars)}  ${namespace}/${timerId}  ${state}`
  }
  if (event === "gap") return "Events may be missing here."
  const skipped = event === "skipped" ? Schema.decodeUnknownOption(Skipped)(fields) : Option.none()
  if (Option.isSome(skipped)) {
    const counts = Object.entries(skipped.value.counts).map(([type, count]) => `${count} ${type}`)
    return `Too many events to show each: ${counts.join(", ")}.`
  }
  const nodes = event === "nodes" ? Schema.decodeUnknownOption(Nodes)(fields) : Option.none()
  return Option.match(nodes, {
    onNone: () => undefined,
    onSome: ({ missing }) =>
      missing.length === 0 ? "Following the events of all nodes." : `No events from ${missing.join(", ")}.`,
  })
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
