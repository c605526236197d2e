/** Events of the service (Server-Sent Events) as an async iterator. */
import type { Caller } from "./core/Caller.ts"
import { noAnswer, wasAborted, withWritten } from "./core/failures.ts"
import type { CallOptions } from "./core/options.ts"

/** Which events to read. */
export interface StreamEvents {
  /** Names, or prefixes such as `team-*`. All that the key may read when left out. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  readonly types?: ReadonlyArray<string> | undefined
  /** The `id` of the last event before an interruption of up to a minute. */
  readonly lastEventId?: string | undefined
}

/** One event. */
export interface StreamEvent {
  /** `created`, `changed`, `cancelled`, `replayed`, `started`, `delivered`, `retried`, `dead`, `skipped`, `gap`, `nodes`. */
  readonly type: string
  /** Send it as `lastEventId` to continue here. */
  readonly id: string | undefined
  /** `namespace`, `timerId`, `fireId`, `at` and `state` for events of timers. */
  readonly data: unknown
}

/** A longer line is no event of this service. */
const lineCharsMax = 1024 * 1024

/**
 * Reads events until the service ends the stream, or until the reader stops. If the connection breaks, it throws: begin
 * again with the last `id`.
 */
export const eventStream = async function* (
  caller: Caller,
  { namespaces, types, lastEventId }: StreamEvents,
  options: CallOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const query = new URLSearchParams()
  if (namespaces !== undefined) query.set("namespaces", namespaces.join(","))
  if (types !== undefined) query.set("types", types.join(","))
  const search = String(query) === "" ? "" : `?${query}`
  const headers = {
    accept: "text/event-stream",
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
  }
  const response = await caller.open(`events/stream${search}`, headers, options)
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ""
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done || value === undefined) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split("\n\n")
      text = blocks.pop() ?? ""
      if (text.length > lineCharsMax) throw new Error("the stream has a line without an end")
      for (const block of blocks) yield* eventsIn(block)
    }
  } catch (error) {
    const { signal } = options
    const failure =
      signal?.aborted === true ? wasAborted(signal.reason) : noAnswer(error, "the stream of events")
    throw withWritten(failure, "no")
  } finally {
    await reader?.cancel().catch(() => undefined)
  }
}

/** A block without data is a comment, which keeps the connection open. */
const eventsIn = (block: string): ReadonlyArray<StreamEvent> => {
  const fields = new Map(
    block.split("\n").flatMap((line): ReadonlyArray<[string, string]> => {
      const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? []
      return name === "" ? [] : [[name, value]]
    }),
  )
  const type = fields.get("event")
  if (type === undefined) return []
  const data = fields.get("data")
  return [
    { type, id: fields.get("id"), data: data === undefined || data === "" ? undefined : JSON.parse(data) },
  ]
}
