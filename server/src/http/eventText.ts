// Events as text of the form text/event-stream. JSON text has no line breaks, so the data of an event is one line.
import type { ReaderItem } from "../engine/events/EventReader.ts"

/** How long a browser waits before it connects again. */
const reconnectMs = 2_000

/** The beginning of a stream. */
export const streamHead = `retry: ${reconnectMs}\n\n`

export const eventText = (item: ReaderItem): string => {
  const id = item.position === undefined ? "" : `id: ${item.position}\n`
  return `event: ${item.kind === "event" ? item.event.type : item.kind}\n${id}data: ${dataOf(item)}\n\n`
}

/** Tells the client and all proxies that the stream lives. The position has no event, and a reader keeps it. */
export const beatText = (position: string | undefined): string =>
  position === undefined ? ":\n\n" : `:\nid: ${position}\n\n`

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
