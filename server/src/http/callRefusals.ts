// The answers to calls that are refused before anyone reads them.
import { Overloaded, type Problem, UnsupportedMediaType } from "@punctual/api/Problem"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"

/** Bodies above this size take turns. */
export const largeBodyBytes = 1024 * 1024

export const tooManyCalls = (): Problem =>
  new Overloaded({
    detail: "Too many calls are running. This limit is fixed. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

export const tooManyLargeBodies = (): HttpAnswer =>
  problemResponse(
    new Overloaded({
      detail: `Too many bodies above ${largeBodyBytes} bytes are waiting. This limit is fixed. Nothing was written: retry, or send smaller bodies.`,
      retryAfterSeconds: 1,
      written: "no",
    }),
  )

export const tooManyWalks = (): HttpAnswer =>
  problemResponse(
    new Overloaded({
      detail:
        "Too many calls that read many timers are waiting. This limit is fixed. Nothing was written: retry.",
      retryAfterSeconds: 1,
      written: "no",
    }),
  )

const jsonMediaType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

/** A longer one is not JSON. The limit keeps the expression quick. */
const mediaTypeCharsMax = 100

/** `undefined` if the body is declared as JSON. */
export const whyNotJson = (request: HttpRequest): Problem | undefined => {
  const mediaType = request.headers.get("content-type")
  if (mediaType === "application/json") return undefined
  if (mediaType !== null && mediaType.length <= mediaTypeCharsMax && jsonMediaType.test(mediaType))
    return undefined
  return new UnsupportedMediaType({
    detail: "Send the body as JSON, in UTF-8, with the header content-type: application/json.",
  })
}
