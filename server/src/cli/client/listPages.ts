// Prints a list that a service answers in pages: one page, or all pages with --all. Only one page is in memory.
import { Effect, Option } from "effect"
import { type CommandFailed, type CommandRun, Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import { type Answered, answerJson } from "./ServiceClient.ts"

export interface PagedList<A extends { readonly nextCursor?: string }> {
  readonly page: (
    cursor: string | undefined,
  ) => Effect.Effect<Answered<A>, CommandFailed | OutputClosed, Output>
  /** How many items the page has. */
  readonly size: (page: A) => number
  /** The JSON of each item, on one line. */
  readonly lines: (page: Answered<A>) => ReadonlyArray<string>
  /** The first line is the head. */
  readonly table: (page: Answered<A>) => string
  /** The text for an empty list. */
  readonly none: string
  /** Says that there are more items, without a full stop. */
  readonly more: (page: A) => string
}

export interface PagesAsked {
  readonly all: boolean
  readonly json: boolean
  readonly cursor: Option.Option<string>
}

export const listPages = <A extends { readonly nextCursor?: string }>(
  list: PagedList<A>,
  { all, json, cursor }: PagesAsked,
): CommandRun =>
  Effect.gen(function* () {
    const { answer, remark } = yield* Output
    let answered = yield* list.page(Option.getOrUndefined(cursor))
    if (!all) {
      if (json) return yield* answerJson(answered.text)
      yield* answer(list.size(answered.value) === 0 ? list.none : list.table(answered))
      const { nextCursor } = answered.value
      if (nextCursor !== undefined) {
        const more = list.more(answered.value)
        yield* remark(`${more}: list all with --all, or continue with --cursor=${nextCursor}`)
      }
      return
    }
    let listed = 0
    for (;;) {
      const size = list.size(answered.value)
      if (size > 0) {
        const text = json ? list.lines(answered).join("\n") : list.table(answered)
        yield* answer(json || listed === 0 ? text : withoutHead(text))
      }
      listed += size
      const { nextCursor } = answered.value
      if (nextCursor === undefined) break
      answered = yield* list.page(nextCursor)
    }
    if (listed === 0 && !json) yield* answer(list.none)
  })

const withoutHead = (table: string): string => table.slice(table.indexOf("\n") + 1)
