// Lists of timers, for `punctual timers list` and `punctual dead list`.
import { elementSpans } from "@punctual/api/JsonSpan"
import { ListTimersAnswer } from "@punctual/api/ListTimers"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { listPages } from "../client/listPages.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { callService, type RequestFields } from "../client/ServiceClient.ts"
import { type CommandRun, misuse, switchFlag } from "../frame/CommandRuntime.ts"
import {
  countGiven,
  type Filter,
  filterFields,
  namespaceFields,
  stateFields,
  textFlag,
  wholeFlag,
  whyNotScope,
} from "./TimerFlags.ts"
import { timerTable } from "./TimerView.ts"

export const pageFlags = {
  limit: wholeFlag("limit", 1, "a whole number above 0").pipe(
    Flag.withDescription("At most this many"),
    Flag.optional,
  ),
  cursor: textFlag("cursor", "C", "Continue from this cursor, which the page before printed"),
  all: switchFlag("all", "All pages; with --json one object on each line"),
}

export interface Paging {
  readonly limit: Option.Option<number>
  readonly cursor: Option.Option<string>
  readonly all: boolean
}

interface Listing extends Filter, Paging {
  readonly path: ReadonlyArray<string>
  readonly service: ServiceAddress
  readonly json: boolean
  readonly namespaces: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
  readonly order?: string
  readonly payload: boolean
  /** The text for an empty list. */
  readonly none: string
}

export const listTimers = (listing: Listing): CommandRun => {
  const { path, service, json, namespaces, states, order, payload, none, all, limit, cursor } = listing
  const wrong = whyNotPaging(path, listing)
  if (wrong !== undefined) return Effect.fail(wrong)
  const wrongScope = whyNotScope(namespaces, states, listing.reason)
  if (wrongScope !== undefined) return Effect.fail(misuse(path, wrongScope))
  const fields: RequestFields = {
    ...namespaceFields(namespaces),
    ...stateFields(states),
    order,
    ...filterFields(listing),
    ...(payload ? { include: ["payload"] } : {}),
  }
  const page = (from: string | undefined) =>
    callService(service, {
      path: "/timers/list",
      fields: { ...fields, limit: Option.getOrUndefined(limit), cursor: from },
      answer: ListTimersAnswer,
    })
  const shape = {
    hasPending: states.includes("pending"),
    hasFinished: states.some((state) => state !== "pending"),
    hasNamespaces: "namespaces" in fields,
  }
  return listPages(
    {
      page,
      size: ({ timers }) => timers.length,
      lines: ({ text }) => timerJsonLines(text),
      table: ({ value, text }) => timerTable(value.timers, shape, payload ? payloadTexts(text) : undefined),
      none,
      more: ({ examined }) =>
        examined === undefined ? "There are more" : `${examined} timers were examined, and there may be more`,
    },
    { all, json, cursor },
  )
}

export const whyNotPaging = (path: ReadonlyArray<string>, { all, limit, cursor }: Paging) =>
  countGiven(all, Option.isSome(limit) || Option.isSome(cursor)) > 1
    ? misuse(path, "--all lists every page, so it cannot be combined with --limit or --cursor.")
    : undefined

/** Puts JSON on one line. Strings in JSON escape line breaks and tabs, so only white space between tokens changes. */
const inOneLine = (json: string): string => json.replace(/[\n\r\t]+/g, " ")

/** The payloads as they were sent: parsing and writing them again would change large numbers. */
const payloadTexts = (text: string, member: ListMember = "timers"): ReadonlyArray<string> =>
  elementSpans(text, member, "payload").map((span) =>
    span === undefined ? "" : inOneLine(text.slice(span.start, span.end)),
  )

/** The member of an answer that has the timers. */
type ListMember = "timers" | "lives"

/** The JSON of each timer of an answer, with its payload as it was sent. */
export const timerJsonLines = (text: string, member: ListMember = "timers"): ReadonlyArray<string> => {
  const answer = JSON.parse(text) as Partial<Record<ListMember, ReadonlyArray<Record<string, unknown>>>>
  const payloads = payloadTexts(text, member)
  return (answer[member] ?? []).map(({ payload: _, ...timer }, index) => {
    const json = JSON.stringify(timer)
    const payload = payloads[index] ?? ""
    return payload === "" ? json : `${json.slice(0, -1)},"payload":${payload}}`
  })
}
