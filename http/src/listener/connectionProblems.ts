// What a connection answers by itself.
import { Internal, Overloaded, type Problem, RequestTimeout } from "@punctual/api/Problem"

export const unexpected = (): Problem =>
  new Internal({ detail: "An unexpected error. The log of the service has the cause." })

export const headTooSlow = (withinMs: number): Problem =>
  new RequestTimeout({
    detail: `The headers did not arrive within ${withinMs / 1_000} s. This limit is fixed. Send the request without pauses.`,
  })

export const tooManyBytes = (): Problem =>
  new Overloaded({
    detail:
      "Requests that have not arrived completely use too much memory: those of your address, or of all clients. This limit is fixed. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

export const madeRoom = (): Problem =>
  new Overloaded({
    detail:
      "The request took too long to arrive, and the service needed its connection for another client. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })
