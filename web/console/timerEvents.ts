/** The stream of events about timers. A test compares the types of its events with the contract. */
import type { EventSourceTerms } from "../kit/EventReader.ts"

export const timerEvents: EventSourceTerms = {
  address: "../api/v1/events/stream",
  types: ["created", "changed", "cancelled", "started", "delivered", "retried", "dead", "replayed"],
  untold: ["skipped", "gap"],
}
