/**
 * Whether the service answers. Every call tells it here, so that every page can say that the service cannot be reached or
 * that it starts, also a page that shows only what it has loaded before.
 */
import { useSyncExternalStore } from "react"

/**
 * `doubtful`: one call got no answer, so the page asks whether the service answers at all. `starting`: the service
 * answers, but it cannot do its work yet, or no longer.
 */
export type Contact = "answers" | "doubtful" | "lost" | "starting"

let contact: Contact = "answers"
const listeners = new Set<() => void>()

/** An error of the service is an answer, too. A doubt adds nothing to what is known already. */
export const noteContact = (next: Contact): void => {
  if (next === contact || (next === "doubtful" && contact !== "answers")) return
  contact = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useContact = (): Contact => useSyncExternalStore(subscribe, () => contact)
