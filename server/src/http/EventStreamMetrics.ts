// The metrics of streams of events.
import { countedByReason } from "@punctual/http/HttpMetrics"
import { type Context, Metric } from "effect"
import type { ReaderItem } from "../engine/events/EventReader.ts"

export interface EventStreamMetrics {
  readers(count: number): void
  refused(reason: "total" | "caller"): void
  sent(items: ReadonlyArray<ReaderItem>): void
}

export const eventStreamMetrics = (context: Context.Context<never>): EventStreamMetrics => {
  const readers = Metric.gauge("timer_event_readers", { description: "Open streams of events." })
  const counter = (name: string, description: string) => {
    const metric = Metric.counter(name, { description, incremental: true })
    metric.updateUnsafe(0, context)
    return (count: number) => metric.updateUnsafe(count, context)
  }
  const sent = counter("timer_events_sent_total", "Events of timers that readers got.")
  const skipped = counter(
    "timer_events_skipped_total",
    "Events of timers that readers got only as counts, because there were too many or the reader was slow.",
  )
  const gaps = counter("timer_event_gaps_total", "How often a reader was told that events may be missing.")
  readers.updateUnsafe(0, context)
  return {
    readers: (count) => readers.updateUnsafe(count, context),
    refused: countedByReason(
      context,
      "timer_event_readers_refused_total",
      "Streams of events refused because of a limit: of the node (total), or of one key or address (caller).",
      ["total", "caller"],
    ),
    sent: (items) => {
      let events = 0
      for (const item of items) {
        if (item.kind === "event") events++
        else if (item.kind === "gap") gaps(1)
        else if (item.kind === "skipped") for (const count of Object.values(item.counts)) skipped(count)
      }
      if (events > 0) sent(events)
    },
  }
}
