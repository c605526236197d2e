/** The body of a call that asks for nothing: `{}`. An empty struct by itself would take anything that is not null. */
import { Schema } from "effect"

const message = "must be an empty JSON object: nothing is asked for"

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
    .annotate({ message, identifier, description: "Nothing is asked for: the body is {}." })
