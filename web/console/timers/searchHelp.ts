/** What is wrong with a search, and what the reader may have meant, in the words of the search. */
import { parseDuration } from "@punctual/api/parseDuration"
import { type FieldName, fieldNames, knownValues, type Word } from "./search.ts"

/** Words that the pages use for timers, but that are no states. */
const stateHelp: Readonly<Record<string, string>> = {
  retrying:
    "Timers that are retrying are pending, and their last attempt failed: search error:5xx, error:4xx, error:timeout or error:network.",
  waiting: "Timers that are waiting are pending and overdue: choose the span Overdue.",
  overdue: "Overdue timers are pending: choose the span Overdue.",
  paused:
    "Timers of a paused namespace are pending: search namespace:… The page Status names the paused namespaces.",
  inFlight: "Timers in flight are searched as pending ones: search state:pending.",
  scheduled: "Timers that are scheduled are pending: search state:pending.",
  failed:
    "Timers that failed for good are dead: search state:dead. Those that will try again are pending, with error:5xx, for example.",
}

const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`

const nouns: Partial<Record<FieldName, readonly [one: string, many: string]>> = {
  state: ["a state", "The states"],
  error: ["a kind of error", "The kinds"],
  reason: ["a reason", "The reasons"],
}

/** Sentences about words that the service would refuse. */
export const searchProblems = (words: ReadonlyArray<Word>): ReadonlyArray<string> =>
  words.flatMap(({ field, value }) => {
    if (field === "late") {
      return parseDuration(value) === undefined
        ? [`late:${value} needs a duration, such as late:5s, late:1m30s or late:2h.`]
        : []
    }
    const known = knownValues[field]
    const noun = nouns[field]
    if (known === undefined || noun === undefined || known.includes(value)) return []
    const help = field === "state" ? (stateHelp[value] ?? "") : ""
    return [`“${value}” is not ${noun[0]}. ${noun[1]} are ${listed(known)}. ${help}`.trim()]
  })

/** A host in a text that was pasted as an id: `https://ledger.example.com/x` or `ledger.example.com:8443`. */
export const hostIn = (text: string): string | undefined => {
  if (/^https?:\/\//i.test(text)) return URL.canParse(text) ? new URL(text).host : undefined
  return /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d{1,5})?$/i.test(text) ? text.toLowerCase() : undefined
}

/** Sentences for a search that found nothing. */
export const searchHints = (
  words: ReadonlyArray<Word>,
  names: ReadonlyArray<FieldName> = fieldNames,
): ReadonlyArray<string> => {
  const id = words.findLast(({ field }) => field === "id")?.value
  if (id === undefined) return []
  const [, name] = /^([A-Za-z]+):(?!\/\/)/.exec(id) ?? []
  return [
    ...(name === undefined
      ? []
      : [
          `“${name}” is not a field of the search, so “${id}” is the beginning of an id. The fields are ${listed(names)}.`,
        ]),
    ...(/\s/.test(id)
      ? [`Words without a field are one id: “${id}”. Use a field for each word, such as tag:trial.`]
      : []),
    "Ids match from their beginning, and capital letters count.",
  ]
}
