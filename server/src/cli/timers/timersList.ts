// Lists of timers, for `punctual timers list` and `punctual dead list`: one page, or all pages with --all. Only one
// page is in memory.
import { elementSpans } from "@punctual/api/JsonSpan"
import { ListTimersAnswer } from "@punctual/api/ListTimers"
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import { type Answered, answerJson, callService, type RequestFields } from "../client/ServiceClient.ts"
import { type CommandRun, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
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
  readonly url: string
  readonly json: boolean
  readonly namespaces: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
  readonly order?: string
  readonly payload: boolean
  /** The text for an empty list. */
  readonly none: string
}

export const listTimers = (listing: Listing): CommandRun => {
  const { path, url, json, namespaces, states, order, payload, none, all, limit, cursor } = listing
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
    callService(url, {
      path: "/timers/list",
      fields: { ...fields, limit: Option.getOrUndefined(limit), cursor: from },
      answer: ListTimersAnswer,
    })
  const shape = {
    hasPending: states.includes("pending"),
    hasFinished: states.some((state) => state !== "pending"),
    hasNamespaces: "namespaces" in fields,
  }
  const shown = (answered: Answered<ListTimersAnswer>) =>
    timerTable(answered.value.timers, shape, payload ? payloadTexts(answered.text) : undefined)
  return Effect.gen(function* () {
    const { answer, remark } = yield* Output
    let answered = yield* page(Option.getOrUndefined(cursor))
    if (!all) {
      if (json) return yield* answerJson(answered.text)
      yield* answer(answered.value.timers.length === 0 ? none : shown(answered))
      const { nextCursor, examined } = answered.value
      if (nextCursor !== undefined) {
        const more =
          examined === undefined
            ? "There are more"
            : `${examined} timers were examined, and there may be more`
        yield* remark(`${more}: list all with --all, or continue with --cursor=${nextCursor}`)
      }
      return
    }
    let listed = 0
    for (;;) {
      const { timers, nextCursor } = answered.value
      if (timers.length > 0) {
        const table = json ? timerLines(answered.text).join("\n") : shown(answered)
        yield* answer(json || listed === 0 ? table : withoutHead(table))
      }
      listed += timers.length
      if (nextCursor === undefined) break
      answered = yield* page(nextCursor)
    }
    if (listed === 0 && !json) yield* answer(none)
  })
}

export const whyNotPaging = (path: ReadonlyArray<string>, { all, limit, cursor }: Paging) =>
  countGiven(all, Option.isSome(limit) || Option.isSome(cursor)) > 1
    ? misuse(path, "--all lists every page, so it cannot be combined with --limit or --cursor.")
    : undefined

const withoutHead = (table: string): string => table.slice(table.indexOf("\n") + 1)

/** Puts JSON on one line. Strings in JSON escape line breaks and tabs, so only white space between tokens changes. */
const inOneLine = (json: string): string => json.replace(/[\n\r\t]+/g, " ")

/** The payloads as they were sent: parsing and writing them again would change large numbers. */
const payloadTexts = (text: string): ReadonlyArray<string> =>
  elementSpans(text, "timers", "payload").map((span) =>
    span === undefined ? "" : inOneLine(text.slice(span.start, span.end)),
  )

const timerLines = (text: string): ReadonlyArray<string> => {
  const { timers } = JSON.parse(text) as { readonly timers: ReadonlyArray<Record<string, unknown>> }
  const payloads = payloadTexts(text)
  return timers.map(({ payload: _, ...timer }, index) => {
    const json = JSON.stringify(timer)
    const payload = payloads[index] ?? ""
    return payload === "" ? json : `${json.slice(0, -1)},"payload":${payload}}`
  })
}
