/**
 * Several namespaces of a list or a count: names, prefixes of names, or all. `["*"]` must be alone, so that nobody
 * widens a list to all namespaces by adding one more name.
 */
import { Schema } from "effect"
import { Namespace } from "./Namespace.ts"

export const mostNamespaceChoices = 20

/** How many namespaces the prefixes of one request may match. */
export const mostNamespacesMatched = 1_000

export const everyNamespace = "*"

const choiceMessage = 'must be a namespace, a prefix such as "team-*", or "*"'
const choicesMessage = `must be an array of 1 to ${mostNamespaceChoices} namespaces`

const isNamespace = Schema.is(Namespace)

const whyNotChoice = (text: string): string | undefined => {
  if (text === everyNamespace) return undefined
  return isNamespace(text.endsWith("*") ? text.slice(0, -1) : text) ? undefined : choiceMessage
}

const Choice = Schema.String.annotate({ message: choiceMessage }).check(
  Schema.makeFilter(whyNotChoice, {
    toJsonSchema: () => ({ pattern: "^([A-Za-z0-9-][A-Za-z0-9_-]{0,99}\\*?|\\*)$" }),
    description: "A namespace, a prefix followed by *, or * for all namespaces.",
  }),
)

const isSound = Schema.makeFilter(
  (choices: ReadonlyArray<string>) => {
    // Another check refuses too many choices, so they are not compared here.
    if (choices.length > mostNamespaceChoices) return undefined
    const repeated = choices.findIndex((choice, at) => choices.indexOf(choice) < at)
    if (repeated !== -1) return { path: [repeated], issue: "is given twice: remove one of them" }
    const all = choices.indexOf(everyNamespace)
    return all === -1 || choices.length === 1
      ? undefined
      : { path: [all], issue: "means all namespaces: remove it, or remove the others" }
  },
  {
    toJsonSchema: () => ({
      uniqueItems: true,
      anyOf: [{ maxItems: 1 }, { not: { contains: { const: everyNamespace } } }],
    }),
  },
)

/** Names and prefixes. `description` says what they select. */
const choicesFor = (description: string) =>
  Schema.Array(Choice)
    .annotate({ message: choicesMessage })
    .check(
      Schema.isBetweenLength(1, mostNamespaceChoices, {
        message: choicesMessage,
        description,
        examples: [["billing", "team-*"]],
      }),
      isSound,
    )

const namesAndPrefixes = `1 to ${mostNamespaceChoices} names or prefixes followed by * ("team-*").`

const matchedTogether = `${namesAndPrefixes} The prefixes may match ${mostNamespacesMatched} namespaces together.`

export const NamespaceChoices = choicesFor(
  `${matchedTogether} ["*"] means every namespace that the key may read, but only for pending timers and dead letters.`,
)

export const BulkNamespaces = choicesFor(
  `${matchedTogether} ["*"] means every namespace, and needs a key for all of them.`,
)

export const KeyNamespaces = choicesFor(
  `Where the key may act: ${namesAndPrefixes} ["*"], the default, means everywhere. Actions on the whole service need it.`,
)

export const EventNamespaces = choicesFor(
  `Whose events the reader gets: ${namesAndPrefixes} By default, and with ["*"], all namespaces that the key may read.`,
)

export const ActivityNamespaces = choicesFor(
  `Whose activity to count: ${namesAndPrefixes} By default, and with ["*"], all namespaces that the key may read.`,
)
