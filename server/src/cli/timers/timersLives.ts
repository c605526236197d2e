// `punctual timers lives`: all lives of a key, for the question what happened to it before.
import { ListLivesAnswer } from "@punctual/api/ListLives"
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { listPages } from "../client/listPages.ts"
import { type CommandInput, callService, serviceFlags } from "../client/ServiceClient.ts"
import type { CommandRun } from "../frame/CommandRuntime.ts"
import { namespaceArgument, timerIdArgument } from "./TimerFlags.ts"
import { timerTable } from "./TimerView.ts"
import { pageFlags, timerJsonLines, whyNotPaging } from "./timersList.ts"

export const livesCommand = (input: CommandInput) =>
  Command.make(
    "lives",
    { namespace: namespaceArgument, timerId: timerIdArgument, ...pageFlags, ...serviceFlags(input) },
    ({ namespace, timerId, service, json, limit, cursor, all }): CommandRun => {
      const wrong = whyNotPaging(["timers", "lives"], { limit, cursor, all })
      if (wrong !== undefined) return Effect.fail(wrong)
      return listPages(
        {
          page: (from) =>
            callService(service, {
              path: "/timers/lives",
              fields: { namespace, timerId, limit: Option.getOrUndefined(limit), cursor: from },
              answer: ListLivesAnswer,
            }),
          size: ({ lives }) => lives.length,
          lines: ({ text }) => timerJsonLines(text, "lives"),
          table: ({ value }) => timerTable(value.lives, shape, undefined),
          none: `The store has no life of the timer ${timerId} in ${namespace}.`,
          more: () => "There are more",
        },
        { all, json, cursor },
      )
    },
  ).pipe(
    Command.withDescription(
      [
        "Show all lives of a timer id that the store still has, latest first: the pending timer, then those that finished.",
        "  --json prints the answer of the service: { lives, nextCursor? }. With --all it prints one life per line.",
      ].join("\n"),
    ),
    Command.withShortDescription("Show the earlier lives of a timer"),
    Command.withExamples([{ command: "punctual timers lives billing invoice-4711" }]),
  )

const shape = { hasPending: true, hasFinished: true, hasNamespaces: false } as const
