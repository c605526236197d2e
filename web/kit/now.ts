/**
 * The time by which the service fires, as far as the page knows it. It differs from the browser's clock if one of the two
 * is wrong, or if the service's clock is manual and stands still.
 */
import { useSyncExternalStore } from "react"

let offsetMs = 0
let isKnown = false
let standsAtMs: number | undefined
let heardMs: number | undefined
let tickMs = Date.now()
const listeners = new Set<() => void>()

/** The browser's clock and the service's may differ by the time of a request. */
const negligibleMs = 1_500

const tell = (): void => {
  tickMs = nowMs()
  for (const listener of listeners) listener()
}

export const nowMs = (): number => standsAtMs ?? Date.now() + offsetMs

/** The service just said that it is this late there. Two equal answers in a row mean that its clock stands still. */
export const learnServiceTime = (serviceMs: number): void => {
  const difference = serviceMs - Date.now()
  standsAtMs = serviceMs === heardMs ? serviceMs : undefined
  heardMs = serviceMs
  offsetMs = Math.abs(difference) < negligibleMs ? 0 : difference
  const isFirst = !isKnown
  isKnown = true
  if (isFirst || standsAtMs !== undefined) tell()
}

/** A service that does not say its time says at least in which second it has answered, in the header `date`. */
export const learnFromDate = (date: string | null): void => {
  const difference = Date.parse(date ?? "") + 500 - Date.now()
  // The browser's clock must do if there is no such header.
  offsetMs = Number.isNaN(difference) || Math.abs(difference) < negligibleMs + 500 ? 0 : difference
  if (isKnown) return
  isKnown = true
  tell()
}

/** The service will not say its time: the reader may not ask for it, or the service could not answer. */
export const trustBrowserClock = (): void => {
  if (isKnown) return
  isKnown = true
  tell()
}

setInterval(() => {
  if (document.visibilityState === "visible") tell()
}, 1_000)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Until the page knows the time, it must not say how far away an instant is: the browser's clock may be wrong. */
export const useIsTimeKnown = (): boolean => useSyncExternalStore(subscribe, () => isKnown)

/** The time, renewed every second while the page is visible. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => tickMs)
