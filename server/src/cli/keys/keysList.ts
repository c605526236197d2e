// `punctual keys list`: all keys, the newest first. Other commands read the same pages.
import { type Key, ListKeysAnswer } from "@punctual/api/Keys"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { listPages } from "../client/listPages.ts"
import type { CommandFailed } from "../frame/CommandRuntime.ts"
import { pageFlags, whyNotPaging } from "../timers/timersList.ts"
import { accessKeys, type KeyAccess, type KeyCommandParts, keyAccessFlags } from "./KeyAccess.ts"
import { keyTable } from "./KeyView.ts"

export const keysListCommand = (parts: KeyCommandParts) =>
  Command.make("list", { ...pageFlags, ...keyAccessFlags(parts) }, ({ limit, cursor, all, json, ...asked }) =>
    Effect.gen(function* () {
      const path = ["keys", "list"]
      const wrong = whyNotPaging(path, { limit, cursor, all })
      if (wrong !== undefined) return yield* Effect.fail(wrong)
      const keys = yield* accessKeys(parts, asked, { path })
      yield* listPages(
        {
          page: (from) => listed(keys, { limit: Option.getOrUndefined(limit), cursor: from }),
          size: (page) => page.keys.length,
          lines: ({ text }) => keyLines(text),
          table: ({ value }) => keyTable(value.keys),
          none: "No keys.",
          more: () => "There are more",
        },
        { all, json, cursor },
      )
    }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      "List all keys, the newest first, also those that have ended. No text of a key is shown.",
    ),
    Command.withExamples([
      { command: "punctual keys list --all" },
      { command: "punctual keys list --store sqlite:./data/punctual.db" },
    ]),
  )

/** All keys, from all pages. Their number is limited. */
export const allKeys = (keys: KeyAccess): Effect.Effect<ReadonlyArray<Key>, CommandFailed> =>
  Effect.gen(function* () {
    const all: Array<Key> = []
    let cursor: string | undefined
    do {
      const { value } = yield* listed(keys, { cursor })
      all.push(...value.keys)
      cursor = value.nextCursor
    } while (cursor !== undefined)
    return all
  })

/** The JSON of each key, as the contract writes it. */
const keyLines = (text: string): ReadonlyArray<string> => {
  const { keys } = JSON.parse(text) as { readonly keys: ReadonlyArray<unknown> }
  return keys.map((key) => JSON.stringify(key))
}

const listed = (
  keys: KeyAccess,
  fields: { readonly limit?: number | undefined; readonly cursor: string | undefined },
) => keys.ask({ name: "list", fields, answer: ListKeysAnswer })
