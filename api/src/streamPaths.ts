/**
 * What the OpenAPI documents say about streams of events. Streams are not endpoints, because their answers are text that
 * never ends, so their parameters and refusals are written here.
 */

export type Json = Readonly<Record<string, unknown>>

/** A text. Only the parameters of a path are required. */
export const streamParameter = (place: string, name: string, description: string, example: string): Json => ({
  name,
  in: place,
  required: place === "path",
  description,
  schema: { type: "string" },
  example,
})

/** `whenBusy` says when the answer is 503. */
export const streamRefusals = (whenBusy: string): Json => ({
  "400": refusal("A parameter is not valid", "invalidRequest", "InvalidRequestProblem"),
  "401": refusal("The key is missing or not valid", "unauthorized", "UnauthorizedProblem"),
  "403": refusal("The key does not have the right", "forbidden", "ForbiddenProblem"),
  "405": refusal("The path accepts only GET", "methodNotAllowed", "MethodNotAllowedProblem", {
    allow: header("The methods that the path accepts.", { type: "string" }),
  }),
  "503": refusal(whenBusy, "overloaded", "OverloadedProblem", {
    "retry-after": header("Retry after this many seconds.", { type: "integer", minimum: 0 }),
  }),
})

const refusal = (description: string, code: string, schema: string, headers: Json = {}): Json => ({
  description,
  ...(Object.keys(headers).length === 0 ? {} : { headers }),
  content: {
    "application/problem+json": {
      schema: { $ref: `#/components/schemas/${schema}` },
      examples: { [code]: { $ref: `#/components/examples/${code}` } },
    },
  },
})

const header = (description: string, schema: Json): Json => ({ required: true, description, schema })
