/**
 * Whether the service answers. Every call tells it here, so that every page can say that the service cannot be reached,
 * also a page that shows only what it has loaded before.
 */
import { useSyncExternalStore } from "react"

let isLost = false
const listeners = new Set<() => void>()

/** An error of the service is an answer, too. */
export const noteContact = (isAnswered: boolean): void => {
  if (isLost !== isAnswered) return
  isLost = !isAnswered
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useIsContactLost = (): boolean => useSyncExternalStore(subscribe, () => isLost)
