/**
 * What happens to timers, as it happens. Pages use it to ask again at the right time. Without the stream they ask every few
 * seconds.
 */
import { useEffect, useRef, useSyncExternalStore } from "react"
import { liveSetting, useLiveInterval } from "../../kit/live.ts"
import { useSetting } from "../../kit/Setting.ts"
import { type EventBatch, EventReader } from "./EventReader.ts"

type Listener = (batch: EventBatch) => void

const listeners = new Set<Listener>()
const openListeners = new Set<() => void>()
let isOpen = false

const take = (batch: EventBatch): void => {
  if (batch.isOpen !== isOpen) {
    isOpen = batch.isOpen
    for (const listener of openListeners) listener()
  }
  for (const listener of listeners) listener(batch)
}

const wantedEveryMs = 60_000

/** Sends `open` and `close` to whoever reads the stream. */
type Tell = (wish: "open" | "close") => void

const workerAddress = (): string | undefined =>
  document.querySelector<HTMLMetaElement>("meta[name=punctual-events]")?.content

const connect = (): Tell => {
  const address = workerAddress()
  if (typeof SharedWorker === "undefined" || address === undefined) {
    const reader = new EventReader("../api/v1/events/stream", take)
    return (wish) => (wish === "open" ? reader.start() : reader.stop())
  }
  const { port } = new SharedWorker(address, { type: "module", name: "punctual events" })
  port.onmessage = ({ data }: MessageEvent<EventBatch>) => take(data)
  return (wish) => port.postMessage(wish)
}

let tell: Tell | undefined

/** Opens the stream while the page is visible and live. For the frame of the pages. */
export const useEventStream = (mayRead: boolean): void => {
  const isLive = useSetting(liveSetting)
  useEffect(() => {
    if (!mayRead) return
    const wish = () => {
      const isWanted = isLive && document.visibilityState === "visible"
      tell ??= connect()
      tell(isWanted ? "open" : "close")
      if (!isWanted) take({ isOpen: false, events: [], hasMore: false })
    }
    const leave = () => tell?.("close")
    wish()
    const timer = setInterval(wish, wantedEveryMs)
    document.addEventListener("visibilitychange", wish)
    window.addEventListener("pagehide", leave)
    return () => {
      leave()
      clearInterval(timer)
      document.removeEventListener("visibilitychange", wish)
      window.removeEventListener("pagehide", leave)
    }
  }, [isLive, mayRead])
}

const subscribe = (listener: () => void) => {
  openListeners.add(listener)
  return () => openListeners.delete(listener)
}

const useIsStreamOpen = (): boolean => useSyncExternalStore(subscribe, () => isOpen)

/** While the stream is open, a page asks rarely by itself. */
const withStreamMs = 30_000

/** For a query: how often it asks again. */
export const useEventInterval = (withoutStreamMs?: number): number | false => {
  const live = useLiveInterval(withoutStreamMs)
  return useIsStreamOpen() && live !== false ? withStreamMs : live
}

/** Calls `act` when a batch concerns the page, at most once in `everyMs`, and never while the reader pauses. */
export const useWhenEvents = (
  concerns: (batch: EventBatch) => boolean,
  act: () => void,
  everyMs: number,
): void => {
  const current = useRef({ concerns, act })
  current.current = { concerns, act }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastMs = 0
    const listener = (batch: EventBatch) => {
      if (timer !== undefined || !liveSetting.value || !current.current.concerns(batch)) return
      timer = setTimeout(
        () => {
          timer = undefined
          lastMs = Date.now()
          current.current.act()
        },
        Math.max(0, lastMs + everyMs - Date.now()),
      )
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      clearTimeout(timer)
    }
  }, [everyMs])
}
