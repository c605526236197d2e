/**
 * Rules about two fields of which one excludes the other. They are filters over the whole body, because a
 * union of bodies would answer a missing field with the failures of every variant.
 */
import { Schema } from "effect"

type Fields = Readonly<Record<string, unknown>>

export const exactlyOneOf = (first: string, second: string) =>
  oneOf(first, second, (body) =>
    first in body || second in body
      ? undefined
      : { path: [first], issue: `is required: give exactly one of ${first} and ${second}` },
  )

export const atMostOneOf = (first: string, second: string) => oneOf(first, second, () => undefined)

const oneOf = (first: string, second: string, whenNotBoth: (body: Fields) => Schema.FilterOutput) =>
  Schema.makeFilter((body: Fields) =>
    first in body && second in body
      ? { path: [second], issue: `cannot be given together with ${first}: remove one of them` }
      : whenNotBoth(body),
  )
