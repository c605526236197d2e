// The parts of a text of the form text/event-stream.

/** How long a browser waits before it connects again. */
const reconnectMs = 2_000

/** The beginning of a stream. */
export const streamHead = `retry: ${reconnectMs}\n\n`

/** `data` is JSON text, which has no line breaks. A client that connects again sends the position that it saw last. */
export const eventFrame = (type: string, position: string | undefined, data: string): string =>
  `event: ${type}\n${position === undefined ? "" : `id: ${position}\n`}data: ${data}\n\n`

/** Tells the client and all proxies that the stream lives. The position has no event, and a reader keeps it. */
export const beatText = (position: string | undefined): string =>
  position === undefined ? ":\n\n" : `:\nid: ${position}\n\n`
