/**
 * Rules about fields of which one excludes the others. They are filters over the whole body, because a union of
 * bodies would answer a missing field with the failures of every variant.
 */
import { Schema } from "effect"

type Fields = Readonly<Record<string, unknown>>

export const exactlyOneOf = (...names: readonly [string, string, ...Array<string>]) =>
  oneOf(names, { path: [names[0]], issue: `is required: give exactly one of ${inWords(names)}` })

export const atMostOneOf = (...names: readonly [string, string, ...Array<string>]) => oneOf(names, undefined)

const oneOf = (names: ReadonlyArray<string>, whenNone: Schema.FilterOutput) =>
  Schema.makeFilter((body: Fields) => {
    const [first, second] = names.filter((name) => name in body)
    if (first === undefined) return whenNone
    if (second === undefined) return undefined
    return { path: [second], issue: `cannot be given together with ${first}: remove one of them` }
  })

const inWords = (names: ReadonlyArray<string>): string =>
  `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`
