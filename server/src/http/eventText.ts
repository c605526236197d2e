// Events of timers as text of a stream.
import { eventFrame } from "@punctual/http/eventFrame"
import type { ReaderItem } from "../engine/events/EventReader.ts"

export const eventText = (item: ReaderItem): string =>
  eventFrame(item.kind === "event" ? item.event.type : item.kind, item.position, dataOf(item))

const dataOf = (item: ReaderItem): string => {
  switch (item.kind) {
    case "event": {
      const { namespace, timerId, fireId, at, state } = item.event
      return JSON.stringify({ namespace, timerId, fireId, at: new Date(at).toISOString(), state })
    }
    case "skipped":
      return JSON.stringify({ counts: item.counts })
    case "nodes":
      return JSON.stringify({ missing: item.missing })
    default:
      return "{}"
  }
}
