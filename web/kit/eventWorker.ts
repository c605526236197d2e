/** One reader of each stream for all tabs of a browser. A stream is open while a visible tab wants it. */
import { type EventBatch, EventReader, type EventSourceTerms } from "./EventReader.ts"

/** A tab says every minute what it wants. A tab that crashed does not. */
const silentMs = 150_000

interface SharedStream {
  readonly reader: EventReader
  readonly wantedAt: Map<MessagePort, number>
}

/** By address. */
const streams = new Map<string, SharedStream>()

const makeStream = (terms: EventSourceTerms): SharedStream => {
  const wantedAt = new Map<MessagePort, number>()
  const reader = new EventReader(terms, (batch) => {
    for (const port of wantedAt.keys()) port.postMessage(batch)
  })
  const stream = { reader, wantedAt }
  streams.set(terms.address, stream)
  return stream
}

const closeUnwanted = (): void => {
  const nowMs = Date.now()
  for (const [address, { reader, wantedAt }] of streams) {
    for (const [port, atMs] of wantedAt) if (nowMs - atMs > silentMs) wantedAt.delete(port)
    if (wantedAt.size > 0) continue
    reader.stop()
    streams.delete(address)
  }
}

/** A tab wants one stream at a time, or none. */
const onTab = (port: MessagePort, wanted: EventSourceTerms | undefined): void => {
  for (const [address, { wantedAt }] of streams) if (address !== wanted?.address) wantedAt.delete(port)
  if (wanted !== undefined) {
    const { reader, wantedAt } = streams.get(wanted.address) ?? makeStream(wanted)
    const isNew = !wantedAt.has(port)
    wantedAt.set(port, Date.now())
    reader.start()
    const state: EventBatch = { isOpen: reader.isOpen, events: [], hasMore: true }
    if (isNew) port.postMessage(state)
  }
  closeUnwanted()
}

self.addEventListener("connect", (event) => {
  // The types of the page do not know the events of a shared worker.
  const [port] = (event as MessageEvent).ports
  if (port !== undefined) port.onmessage = ({ data }) => onTab(port, data ?? undefined)
})

setInterval(closeUnwanted, silentMs / 2)
