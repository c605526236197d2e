/**
 * Several namespaces of a list or a count: names, beginnings of names, or all of them. `["*"]` is allowed alone, so that
 * nobody widens a list to all namespaces by adding one more name.
 */
import { Schema } from "effect"
import { Namespace } from "./Namespace.ts"

export const mostNamespaceChoices = 20

/** How many namespaces the beginnings of one list may match. */
export const mostNamespacesMatched = 1_000

export const everyNamespace = "*"

const choiceMessage = 'must be a namespace, the beginning of names followed by * such as "team-*", or "*"'
const choicesMessage = `must be an array of 1 to ${mostNamespaceChoices} namespaces`

const isNamespace = Schema.is(Namespace)

const whyNotChoice = (text: string): string | undefined => {
  if (text === everyNamespace) return undefined
  return isNamespace(text.endsWith("*") ? text.slice(0, -1) : text) ? undefined : choiceMessage
}

const Choice = Schema.String.annotate({ message: choiceMessage }).check(
  Schema.makeFilter(whyNotChoice, {
    toJsonSchema: () => ({ pattern: "^([A-Za-z0-9-][A-Za-z0-9_-]{0,99}\\*?|\\*)$" }),
    description: "A namespace, the beginning of names followed by *, or * for all.",
  }),
)

const isSound = Schema.makeFilter((choices: ReadonlyArray<string>) => {
  // Too many are refused already, and are not compared.
  if (choices.length > mostNamespaceChoices) return undefined
  const repeated = choices.findIndex((choice, at) => choices.indexOf(choice) < at)
  if (repeated !== -1) return { path: [repeated], issue: "is given twice: remove one of them" }
  const all = choices.indexOf(everyNamespace)
  return all === -1 || choices.length === 1
    ? undefined
    : { path: [all], issue: "means all namespaces: remove the others, or remove it" }
})

export const NamespaceChoices = Schema.Array(Choice)
  .annotate({ message: choicesMessage })
  .check(
    Schema.isBetweenLength(1, mostNamespaceChoices, {
      message: choicesMessage,
      description: `1 to ${mostNamespaceChoices} names, or beginnings of names followed by * ("team-*"), which may match ${mostNamespacesMatched} namespaces in all; or ["*"], every namespace, for pending timers and dead letters only.`,
      examples: [["billing", "team-*"]],
    }),
    isSound,
  )
