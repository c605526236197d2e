/**
 * The search text of lists, such as `state:dead tag:trial id:invoice-*`. Each word narrows the list. The text is what the
 * address of the page holds, what the chips show, and what the request is made from.
 */
import { errorWords, reasonWords, stateWords } from "./words.ts"

export const fields = {
  namespace: "one namespace, or prefix*",
  state: "pending, delivered, cancelled, dead",
  id: "begins with",
  tag: "has the tag",
  correlation: "correlation id",
  host: "host of the target",
  error: "how the last attempt failed",
  reason: "why it is dead",
  late: "late by at least, such as 5s",
} as const

export type FieldName = keyof typeof fields
// `Object.keys` forgets the type of the names.
export const fieldNames = Object.keys(fields) as ReadonlyArray<FieldName>

export interface Word {
  readonly field: FieldName
  readonly value: string
}

/** Values that can be chosen. For other fields the reader types them. */
export const knownValues: Partial<Record<FieldName, ReadonlyArray<string>>> = {
  state: stateWords,
  error: errorWords,
  reason: reasonWords,
}

const wordPattern = /(?:([a-z]+):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/g
const wordsMax = 40

/** Words without a field are the beginning of an id, which may contain blanks. */
export const parseSearch = (text: string): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  const free: Array<string> = []
  for (const [whole, name, quoted, plain = ""] of [...text.matchAll(wordPattern)].slice(0, wordsMax)) {
    const field = fieldNames.find((known) => known === name)
    const value = quoted === undefined ? plain : quoted.replace(/\\(.)/g, "$1")
    if (field === undefined) free.push(quoted === undefined ? whole : value)
    else if (value !== "") words.push({ field, value })
  }
  return free.length === 0 ? words : [...words, { field: "id", value: free.join(" ") }]
}

export const wordText = ({ field, value }: Word): string =>
  `${field}:${/[\s"\\]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value}`

export const searchText = (words: ReadonlyArray<Word>): string => words.map(wordText).join(" ")

/** Fields that may occur several times. Of the others the last word counts. */
const repeatable: ReadonlySet<FieldName> = new Set(["namespace", "state"])

/** Adds a word, in place of one with the same field if the field occurs once. */
export const withWord = (words: ReadonlyArray<Word>, word: Word): ReadonlyArray<Word> => [
  ...words.filter(({ field, value }) =>
    repeatable.has(field) ? field !== word.field || value !== word.value : field !== word.field,
  ),
  word,
]

export interface SearchRequest {
  readonly namespaces: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
  readonly [filter: string]: unknown
}

/** The request of `timers/list` and `timers/count`. `reachable`: the namespaces of a search that names none. */
export const requestOf = (
  words: ReadonlyArray<Word>,
  range: { readonly from?: string | undefined; readonly until?: string | undefined } = {},
  reachable: ReadonlyArray<string> = ["*"],
): SearchRequest => {
  const all = (field: FieldName) => words.flatMap((word) => (word.field === field ? [word.value] : []))
  const last = (field: FieldName) => all(field).at(-1)
  const namespaces = all("namespace")
  const states = all("state")
  return {
    namespaces: namespaces.length === 0 ? reachable : namespaces,
    states: states.length === 0 ? ["pending"] : [...new Set(states)],
    ...given("from", range.from),
    ...given("until", range.until),
    ...given("idPrefix", last("id")?.replace(/\*$/, "")),
    ...given("tag", last("tag")),
    ...given("correlationId", last("correlation")),
    ...given("host", last("host")),
    ...given("error", last("error")),
    ...given("reason", last("reason")),
    ...given("minLateness", last("late")),
  }
}

const given = (name: string, value: string | undefined) =>
  value === undefined || value === "" ? {} : { [name]: value }

/** Over all namespaces the service lists only pending timers and dead letters. */
export const needsNamespace = ({ namespaces, states }: SearchRequest): boolean =>
  namespaces.includes("*") && states.some((state) => state !== "pending" && state !== "dead")
