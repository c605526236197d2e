// How many streams of events may be open at once, in all and for one caller.
import { Overloaded } from "@punctual/api/Problem"
import { dataHeaders } from "./HttpAnswer.ts"

export interface StreamCounts {
  readonly streamsMax: number
  /** For one key, or for one address if the caller has no key. */
  readonly perCallerMax: number
}

export interface TooManyStreams {
  readonly of: "caller" | "total"
  readonly problem: Overloaded
}

/** `place` is who has all streams ("This node"), `instead` what the caller can do ("list timers"). */
export const tooManyStreams = (
  open: ReadonlySet<{ readonly callerName: string }>,
  callerName: string,
  { streamsMax, perCallerMax }: StreamCounts,
  { place, instead }: { readonly place: string; readonly instead: string },
): TooManyStreams | undefined => {
  let ofCaller = 0
  for (const { callerName: other } of open) if (other === callerName) ofCaller++
  const isCaller = ofCaller >= perCallerMax
  if (!isCaller && open.size < streamsMax) return undefined
  const whose = isCaller ? `This key or address has ${perCallerMax}` : `${place} has ${streamsMax}`
  const problem = new Overloaded({
    detail: `${whose} open streams of events. This limit is fixed. Close one, or ${instead} instead.`,
    retryAfterSeconds: 5,
    written: "no",
  })
  return { of: isCaller ? "caller" : "total", problem }
}

export const streamHeaders = {
  "content-type": "text/event-stream",
  ...dataHeaders,
  // Some proxies would wait for the end of the stream.
  "x-accel-buffering": "no",
}
