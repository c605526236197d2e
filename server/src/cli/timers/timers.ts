// `punctual timers`: the calls of the API about timers, for people.

import { DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import { DeleteTimerAnswer, type deleteResults } from "@punctual/api/DeleteTimer"
import { CountTimersAnswer } from "@punctual/api/ListTimers"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { batchOf, countsText, repeatWhileMore } from "../client/Batches.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  answerJson,
  answerValue,
  type CommandInput,
  callService,
  type RequestFields,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { CommandFailed, type CommandRun, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { knownTimer } from "./explain.ts"
import {
  countFlag,
  countGiven,
  definedIn,
  filterFields,
  filterFlags,
  hasFilter,
  namespaceArgument,
  namespaceFields,
  namespacesArgument,
  reasonFlag,
  stateFields,
  statesFlag,
  timerIdArgument,
  whyNotScope,
} from "./TimerFlags.ts"
import { timerPage } from "./TimerView.ts"
import { activityCommand } from "./timersActivity.ts"
import { createTimerCommand, updateTimerCommand } from "./timersArm.ts"
import { histogramCommand } from "./timersHistogram.ts"
import { listTimers, pageFlags } from "./timersList.ts"
import { livesCommand } from "./timersLives.ts"

export const timersCommand = (input: CommandInput) =>
  Command.make("timers").pipe(
    Command.withDescription(
      [
        "Create, show, change and cancel timers.",
        "  The exit code is 0 on success, 1 if the call was refused or failed, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Create, show, change and cancel timers"),
    Command.withSubcommands([
      createTimerCommand(input),
      getCommand(input),
      listCommand(input),
      countCommand(input),
      histogramCommand(input),
      livesCommand(input),
      activityCommand(input),
      updateTimerCommand(input),
      cancelCommand(input),
    ]),
  )

const getCommand = (input: CommandInput) =>
  Command.make(
    "get",
    { namespace: namespaceArgument, timerId: timerIdArgument, ...serviceFlags(input) },
    ({ namespace, timerId, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* knownTimer(service, namespace, timerId)
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        yield* answer(timerPage(value.timer, text))
      }),
  ).pipe(
    Command.withDescription(
      "Show a timer. If no timer with this id is pending, show the one that finished last.",
    ),
    Command.withShortDescription("Show a timer"),
    Command.withExamples([{ command: "punctual timers get billing invoice-4711" }]),
  )

const listCommand = (input: CommandInput) =>
  Command.make(
    "list",
    {
      namespaces: namespacesArgument,
      states: statesFlag,
      ...filterFlags,
      reason: reasonFlag,
      order: Flag.Literals("order", ["asc", "desc"]).pipe(
        Flag.withMetavar("ORDER"),
        Flag.withDescription("The order by time (default: asc for pending timers, desc for the others)"),
        Flag.optional,
      ),
      ...pageFlags,
      payload: switchFlag("payload", "Show the payloads too"),
      ...serviceFlags(input),
    },
    ({ order, ...asked }) =>
      listTimers({
        ...asked,
        ...(Option.isSome(order) ? { order: order.value } : {}),
        path: ["timers", "list"],
        none: `No ${asked.states.join(" or ")} timers in ${asked.namespaces.join(", ")} that match.`,
      }),
  ).pipe(
    Command.withDescription(
      [
        "List timers: pending timers by due time, or by id with --id-prefix; finished timers with the latest first.",
        "  --json prints the answer of the service: { timers, nextCursor?, examined? }. With --all it prints one timer per line.",
        "  --host, --error, --reason and --min-lateness have no index: a page examines at most 10,000 timers.",
      ].join("\n"),
    ),
    Command.withShortDescription("List timers"),
    Command.withExamples([
      { command: "punctual timers list billing --until 2030-02-01T00:00:00Z" },
      { command: "punctual timers list billing --state delivered --limit 20" },
      { command: "punctual timers list '*' --min-lateness 5m" },
      { command: "punctual timers list billing --id-prefix invoice- --all --payload --json" },
    ]),
  )

const countCommand = (input: CommandInput) =>
  Command.make(
    "count",
    {
      namespaces: namespacesArgument,
      states: statesFlag,
      ...filterFlags,
      reason: reasonFlag,
      ...serviceFlags(input),
    },
    ({ namespaces, states, service, json, ...filter }): CommandRun => {
      const wrong = whyNotScope(namespaces, states, filter.reason)
      if (wrong !== undefined) return Effect.fail(misuse(["timers", "count"], wrong))
      return Effect.gen(function* () {
        const { value, text } = yield* callService(service, {
          path: "/timers/count",
          fields: { ...namespaceFields(namespaces), ...stateFields(states), ...filterFields(filter) },
          answer: CountTimersAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        const examined = value.examined === undefined ? "" : ` (${value.examined} examined)`
        yield* answer(value.capped ? `${value.count} or more${examined}` : String(value.count))
      })
    },
  ).pipe(
    Command.withDescription('Count timers. Very large counts stop at a limit and read "N or more".'),
    Command.withShortDescription("Count timers"),
    Command.withExamples([
      { command: "punctual timers count billing --state dead" },
      { command: "punctual timers count 'team-*' --state dead --error timeout" },
    ]),
  )

const cancelCommand = (input: CommandInput) =>
  Command.make(
    "cancel",
    {
      namespace: namespaceArgument,
      timerId: timerIdArgument.pipe(Argument.optional),
      ifRevision: countFlag("if-revision", "Only if the timer is at this revision"),
      ...filterFlags,
      all: switchFlag("all", "Cancel every pending timer of the namespace; needs --yes"),
      yes: switchFlag("yes", "Confirms --all, because a cancelled timer never fires"),
      ...serviceFlags(input),
    },
    ({ namespace, timerId, ifRevision, all, yes, service, json, ...filter }): CommandRun => {
      const wrong = (message: string) => Effect.fail(misuse(["timers", "cancel"], message))
      if (countGiven(Option.isSome(timerId), hasFilter(filter), all) !== 1) {
        return wrong("Give exactly one of these: a timer id, a filter, or --all.")
      }
      if (Option.isSome(ifRevision) && Option.isNone(timerId)) return wrong("--if-revision needs a timer id.")
      if (all && !yes) {
        return wrong(`This cancels every timer of ${namespace}: add --yes to confirm.`)
      }
      if (Option.isSome(timerId)) {
        return cancelOne(service, json, {
          namespace,
          timerId: timerId.value,
          ifRevision: Option.getOrUndefined(ifRevision),
        })
      }
      return cancelMany(service, json, namespace, all ? undefined : definedIn(filterFields(filter)))
    },
  ).pipe(
    Command.withDescription(
      [
        "Cancel one timer, all timers that match a filter, or all timers of a namespace.",
        "  The exit code is 1 if the timer is in flight or was delivered, because that cannot be undone. With a filter or --all",
        "  it cancels as many timers as matched when it began. The exit code is 1 if other clients created more meanwhile.",
      ].join("\n"),
    ),
    Command.withShortDescription("Cancel timers"),
    Command.withExamples([
      { command: "punctual timers cancel billing invoice-4711" },
      { command: "punctual timers cancel billing --id-prefix invoice-" },
      { command: "punctual timers cancel billing --host old.example.com" },
      { command: "punctual timers cancel trials --all --yes" },
    ]),
  )

type CancelResult = (typeof deleteResults)[number]

const cancelWords: Readonly<Record<CancelResult, string>> = {
  cancelled: "Cancelled: it will not fire.",
  alreadyCancelled: "It was already cancelled.",
  alreadyDead: "It is a dead letter: it will not fire by itself.",
  inFlight: "an attempt is in flight and cannot be stopped. There will be no further attempt.",
  alreadyDelivered: "it was already delivered.",
}

const isTooLate = (result: CancelResult): boolean => result === "inFlight" || result === "alreadyDelivered"

const cancelOne = (
  service: ServiceAddress,
  json: boolean,
  fields: Readonly<Record<string, unknown>>,
): CommandRun =>
  Effect.gen(function* () {
    const { value, text } = yield* callService(service, {
      path: "/timers/delete",
      fields,
      answer: DeleteTimerAnswer,
    })
    const words = cancelWords[value.result]
    if (json) yield* answerJson(text)
    else if (!isTooLate(value.result)) yield* (yield* Output).answer(words)
    if (isTooLate(value.result)) return yield* new CommandFailed({ message: words })
  })

/** Other clients may create timers as fast as this cancels them, so it stops at the count of the beginning. */
const cancelMany = (
  service: ServiceAddress,
  json: boolean,
  namespace: string,
  filter: RequestFields | undefined,
): CommandRun =>
  Effect.gen(function* () {
    const { value: there } = yield* callService(service, {
      path: "/timers/count",
      fields: { namespace, ...filter },
      answer: CountTimersAnswer,
    })
    const call = (cursor: string | undefined) =>
      callService(service, {
        path: "/timers/deleteMany",
        fields: { namespace, ...(filter === undefined ? { all: true } : { filter }), cursor },
        answer: DeleteManyTimersAnswer,
      })
    const { counts, more } = yield* repeatWhileMore(
      {
        none: { cancelled: 0, inFlight: 0 },
        isProgress: ({ cancelled, inFlight }) => cancelled + inFlight > 0,
        isOutrun: ({ cancelled, inFlight }) => !there.capped && cancelled + inFlight >= there.count,
      },
      (cursor) =>
        Effect.map(call(cursor), ({ value: { cancelled, inFlight, ...progress } }) =>
          batchOf({ cancelled, inFlight }, progress),
        ),
    )
    if (json) yield* answerValue({ ...counts, ...(more ? { more } : {}) })
    else yield* (yield* Output).answer(`${countsText(counts)}${more ? ", and there are more" : ""}.`)
    if (more) {
      return yield* new CommandFailed({
        message:
          "some timers remain, because other clients create or change timers. Stop these clients and run the command again.",
      })
    }
    if (counts.inFlight > 0) {
      return yield* new CommandFailed({
        message: "attempts in flight cannot be stopped. There will be no further attempts.",
      })
    }
  })
