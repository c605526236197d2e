/** One stream of events for all tabs of a browser. It is open while a tab is visible and wants it. */
import { type EventBatch, EventReader } from "./EventReader.ts"

/** A tab says every minute that it is still there. A tab that crashed does not. */
const silentMs = 150_000

const wantedAt = new Map<MessagePort, number>()

const reader = new EventReader("../api/v1/events/stream", (batch) => {
  for (const port of wantedAt.keys()) port.postMessage(batch)
})

const follow = (): void => {
  const nowMs = Date.now()
  for (const [port, atMs] of wantedAt) if (nowMs - atMs > silentMs) wantedAt.delete(port)
  if (wantedAt.size > 0) reader.start()
  else reader.stop()
}

const onTab = (port: MessagePort, isWanted: boolean): void => {
  const isNew = !wantedAt.has(port)
  if (isWanted) wantedAt.set(port, Date.now())
  else wantedAt.delete(port)
  follow()
  if (!isWanted || !isNew) return
  const state: EventBatch = { isOpen: reader.isOpen, events: [], hasMore: true }
  port.postMessage(state)
}

self.addEventListener("connect", (event) => {
  // The types of the page do not know the events of a shared worker.
  const [port] = (event as MessageEvent).ports
  if (port !== undefined) port.onmessage = ({ data }) => onTab(port, data === "open")
})

setInterval(follow, silentMs / 2)
