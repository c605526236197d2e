/**
 * What happens in the service, as it happens. Pages use it to ask again at the right time. Without the stream they ask
 * every few seconds.
 */
import { useEffect, useRef, useSyncExternalStore } from "react"
import { type EventBatch, EventReader, type EventSourceTerms } from "./EventReader.ts"
import { liveSetting, useLiveInterval } from "./live.ts"
import { useSetting } from "./Setting.ts"

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

/** Tells whoever reads streams which one this tab wants. Undefined means none. */
type Tell = (wanted: EventSourceTerms | undefined) => void

const workerAddress = (): string | undefined =>
  document.querySelector<HTMLMetaElement>("meta[name=punctual-events]")?.content

const connect = (): Tell => {
  const address = workerAddress()
  if (typeof SharedWorker === "undefined" || address === undefined) return tellOwnReader()
  const { port } = new SharedWorker(address, { type: "module", name: "punctual events" })
  port.onmessage = ({ data }: MessageEvent<EventBatch>) => take(data)
  return (wanted) => port.postMessage(wanted)
}

const tellOwnReader = (): Tell => {
  let open: { readonly address: string; readonly reader: EventReader } | undefined
  return (wanted) => {
    if (open?.address === wanted?.address) return
    open?.reader.stop()
    open =
      wanted === undefined ? undefined : { address: wanted.address, reader: new EventReader(wanted, take) }
    open?.reader.start()
  }
}

let tell: Tell | undefined

/** Opens the stream while the page is visible and live. Undefined: no stream. For the frame of the pages. */
export const useEventStream = (terms: EventSourceTerms | undefined): void => {
  const isLive = useSetting(liveSetting)
  const current = useRef(terms)
  current.current = terms
  const address = terms?.address
  useEffect(() => {
    if (address === undefined) return
    const wish = () => {
      const isWanted = isLive && document.visibilityState === "visible"
      tell ??= connect()
      tell(isWanted ? current.current : undefined)
      if (!isWanted) take({ isOpen: false, events: [], hasMore: false })
    }
    const leave = () => tell?.(undefined)
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
  }, [isLive, address])
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

/** Calls `act` with every batch, at once, and never while the reader pauses. */
export const useEachBatch = (act: (batch: EventBatch) => void): void => {
  const current = useRef(act)
  current.current = act
  useEffect(() => {
    const listener = (batch: EventBatch) => {
      if (liveSetting.value) current.current(batch)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }, [])
}

/** Calls `act` when a batch concerns the page, at most once in `everyMs`, and never while the reader pauses. */
export const useWhenEvents = (
  concerns: (batch: EventBatch) => boolean,
  act: () => void,
  everyMs: number,
): void => {
  const current = useRef({ concerns, act, everyMs })
  current.current = { concerns, act, everyMs }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastMs = 0
    const listener = (batch: EventBatch) => {
      if (timer !== undefined || !liveSetting.value || !current.current.concerns(batch)) return
      timer = setTimeout(
        () => {
          timer = undefined
          // The reader may have paused since the event came.
          if (!liveSetting.value) return
          lastMs = Date.now()
          current.current.act()
        },
        Math.max(0, lastMs + current.current.everyMs - Date.now()),
      )
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      clearTimeout(timer)
    }
  }, [])
}
