/** Jobs on many timers in the words of the pages: what a job does, with which timers, and what it has done. */
import type { BulkAnswer, ListBulkAnswer } from "@punctual/api/BulkJobs"
import type { Action } from "../../kit/self.ts"
import { type FieldName, type SearchRequest, searchText, type Word } from "../timers/search.ts"

export type BulkJob = (typeof BulkAnswer.Encoded)["job"]
export type BulkPage = typeof ListBulkAnswer.Encoded
export type BulkDeed = BulkJob["do"]

export interface DeedWords {
  readonly verb: string
  readonly noun: (count: number) => string
  /** What it means for the timers. */
  readonly meaning: string
  readonly action: Action
  /** The state of the timers that it changes. */
  readonly state: "pending" | "dead"
  readonly isFinal: boolean
}

const deadLetters = (count: number): string => (count === 1 ? "dead letter" : "dead letters")

export const deeds: Readonly<Record<BulkDeed, DeedWords>> = {
  replay: {
    verb: "Replay",
    noun: deadLetters,
    meaning: "A replayed timer is pending again. It is due now, and it has all its attempts.",
    action: "dead.replay",
    state: "dead",
    isFinal: false,
  },
  discard: {
    verb: "Discard",
    noun: deadLetters,
    meaning: "A discarded dead letter is gone for good, with its payload.",
    action: "dead.discard",
    state: "dead",
    isFinal: true,
  },
  cancel: {
    verb: "Cancel",
    noun: (count) => (count === 1 ? "timer" : "timers"),
    meaning: "A cancelled timer does not fire, and its payload is gone for good.",
    action: "timers.cancel",
    state: "pending",
    isFinal: true,
  },
}

export const numberText = (count: number): string => count.toLocaleString("en")

/** `1,204 dead letters` */
export const deedCount = (deed: BulkDeed, count: number): string =>
  `${numberText(count)} ${deeds[deed].noun(count)}`

/** The filter of a job is that of the list, and the job itself decides the state. */
export const bulkFilterOf = ({ states: _, ...filter }: SearchRequest): Readonly<Record<string, unknown>> =>
  filter

const fieldsOfFilter: Readonly<Record<string, FieldName>> = {
  idPrefix: "id",
  tag: "tag",
  correlationId: "correlation",
  host: "host",
  error: "error",
  reason: "reason",
  minLateness: "late",
}

/** A filter as the words of a search. */
export const wordsOf = (filter: Readonly<Record<string, unknown>>): ReadonlyArray<Word> => {
  const names = [filter["namespace"], filter["namespaces"]].flat()
  const namespaces = names.filter((name) => typeof name === "string" && name !== "*")
  return [
    ...namespaces.map((value) => ({ field: "namespace" as const, value: String(value) })),
    ...Object.entries(fieldsOfFilter).flatMap(([name, field]) =>
      filter[name] === undefined ? [] : [{ field, value: String(filter[name]) }],
    ),
  ]
}

/** The page that lists what the job changes, and its parameters for the same filter. */
export const listOf = ({ do: deed, filter }: Pick<BulkJob, "do" | "filter">) => ({
  page: deeds[deed].state === "dead" ? ("dead-letters" as const) : ("timers" as const),
  parameters: { q: searchText(wordsOf(filter)), from: filter.from, until: filter.until },
})

/** How many timers the job has handled. */
export const handledBy = ({ done }: Pick<BulkJob, "done">): number =>
  Object.values(done).reduce((sum, count) => sum + count, 0)

const doneWords: Readonly<Record<keyof BulkJob["done"], string>> = {
  replayed: "replayed",
  discarded: "discarded",
  cancelled: "cancelled",
  inFlight: "were in flight",
  skipped: "skipped",
}

/** `312 replayed, 4 skipped` */
export const resultText = ({ done }: Pick<BulkJob, "done">): string => {
  const [main = [], ...others] = Object.entries(doneWords).flatMap(([name, word]) => {
    const count = done[name as keyof BulkJob["done"]]
    return count === undefined ? [] : [[count, word] as const]
  })
  return [main, ...others.filter(([count]) => count > 0)]
    .filter((part) => part.length > 0)
    .map(([count = 0, word = ""]) => `${numberText(Number(count))} ${word}`)
    .join(", ")
}
