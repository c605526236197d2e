/**
 * Rules about fields that exclude each other. They are filters over the whole body, because with a union of bodies a
 * missing field would cause the errors of every variant. The OpenAPI document states the same rules in JSON Schema.
 */
import { type JsonSchema, Schema } from "effect"

type Fields = Readonly<Record<string, unknown>>
type Names = readonly [string, string, ...Array<string>]

export const exactlyOneOf = (...names: Names) =>
  oneOf(
    names,
    { path: [names[0]], issue: `is required: give exactly one of ${inWords(names)}` },
    { oneOf: names.map((name) => ({ required: [name] })) },
  )

export const atMostOneOf = (...names: Names) => oneOf(names, undefined, noPairOf(names))

const oneOf = (
  names: ReadonlyArray<string>,
  whenNone: Schema.FilterOutput,
  jsonSchema: JsonSchema.JsonSchema,
) =>
  Schema.makeFilter(
    (body: Fields) => {
      const [first, second] = names.filter((name) => name in body)
      if (first === undefined) return whenNone
      if (second === undefined) return undefined
      return { path: [second], issue: `cannot be given together with ${first}: remove one of them` }
    },
    { toJsonSchema: () => jsonSchema },
  )

/** JSON Schema has no keyword for "at most one", so this forbids each pair. */
const noPairOf = (names: ReadonlyArray<string>): JsonSchema.JsonSchema => {
  const pairs = names.flatMap((name, index) =>
    names.slice(index + 1).map((other) => ({ not: { required: [name, other] } })),
  )
  const [only, ...more] = pairs
  return only !== undefined && more.length === 0 ? only : { allOf: pairs }
}

const inWords = (names: ReadonlyArray<string>): string =>
  `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
