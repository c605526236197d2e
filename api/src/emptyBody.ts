/** The body of a call without fields: `{}`. An empty struct alone would accept anything except null. */
import { Schema } from "effect"

const message = "must be an empty JSON object: this call has no fields"

export const emptyBody = (identifier: string) =>
  Schema.Struct({})
    .check(
      Schema.makeFilter(
        (body: unknown) =>
          typeof body === "object" && !Array.isArray(body) && Object.keys(body ?? {}).length === 0
            ? undefined
            : message,
        { toJsonSchema: () => ({ type: "object", additionalProperties: false }) },
      ),
    )
    .annotate({ message, identifier, description: "This call has no fields: the body is {}." })
