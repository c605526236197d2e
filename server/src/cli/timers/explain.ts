// `punctual explain`: why a timer has not fired, since when, and what to do.

import { TimerAnswer } from "@punctual/api/GetTimer"
import { formatInstant } from "@punctual/api/Instant"
import { memberSpan } from "@punctual/api/JsonSpan"
import { ServiceAnswer } from "@punctual/api/Service"
import { jsonText, RawJson } from "@punctual/client"
import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  answerJson,
  type CommandInput,
  callService,
  serviceFlags,
  tryService,
} from "../client/ServiceClient.ts"
import { CommandFailed, Output, printable } from "../frame/CommandRuntime.ts"
import { type Explanation, explanationOf, type ServiceState } from "./explanation.ts"
import { namespaceArgument, timerIdArgument } from "./TimerFlags.ts"

export const explainCommand = (input: CommandInput) =>
  Command.make(
    "explain",
    { namespace: namespaceArgument, timerId: timerIdArgument, ...serviceFlags(input) },
    ({ namespace, timerId, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* knownTimer(service, namespace, timerId)
        const explanation = explanationOf(value.timer, yield* serviceState(service))
        if (json) return yield* answerJson(explanationJson(explanation, text))
        const { answer } = yield* Output
        yield* answer(explanationText(`${namespace}/${timerId}`, explanation))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Say why a timer has not fired, since when, and what to do. For a finished timer it says how the timer ended.",
        "  With --json it prints { status, why, since, todo, timer }. The status is notDue, waitingForRetry, waiting,",
        "  starting, inFlight, delivered, cancelled or dead. For waiting, timer.waiting has the reason.",
      ].join("\n"),
    ),
    Command.withShortDescription("Why a timer has not fired"),
    Command.withExamples([{ command: "punctual explain billing invoice-4711" }]),
  )

/** The timer of `punctual explain` and `punctual timers get`. The error for an unknown id says why it may be unknown. */
export const knownTimer = (service: ServiceAddress, namespace: string, timerId: string) =>
  tryService(service, { path: "/timers/get", fields: { namespace, timerId }, answer: TimerAnswer }).pipe(
    Effect.mapError(({ message, problem }) =>
      problem?.code === "timerNotFound" ? unknownTimer(namespace, timerId) : new CommandFailed({ message }),
    ),
  )

const unknownTimer = (namespace: string, timerId: string): CommandFailed =>
  new CommandFailed({
    message: printable(
      `there is no timer ${timerId} in the namespace ${namespace}. It was never created, or it has finished and its history is no longer kept (TIMER_HISTORY_RETENTION).`,
    ),
  })

/** The service's time decides what is due. If the call fails, the command uses the clock of this machine. */
const serviceState = (service: ServiceAddress): Effect.Effect<ServiceState> =>
  callService(service, { path: "/service/get", fields: {}, answer: ServiceAnswer }).pipe(
    Effect.map(({ value }): ServiceState => value),
    Effect.catch(() => Effect.map(Clock.currentTimeMillis, (now): ServiceState => ({ now }))),
  )

/** `text` is the answer of the service. Its timer is copied into the output unchanged. */
const explanationJson = ({ status, why, sinceMs, todo }: Explanation, text: string): string => {
  const timer = memberSpan(text, "timer")
  return jsonText({
    status,
    why,
    since: sinceMs === undefined ? undefined : formatInstant(sinceMs),
    todo,
    timer: timer && new RawJson(text.slice(timer.start, timer.end)),
  })
}

const headlines: Readonly<Record<Explanation["status"], string>> = {
  notDue: "is not due yet",
  waitingForRetry: "waits for its next attempt",
  waiting: "is due and has waited since",
  starting: "is due and has not started since",
  inFlight: "has been in flight since",
  delivered: "was delivered at",
  cancelled: "was cancelled at",
  dead: "has been dead since",
}

const explanationText = (name: string, { status, why, sinceMs, todo }: Explanation): string =>
  [
    `${name} ${headlines[status]}${sinceMs === undefined ? "" : ` ${formatInstant(sinceMs)}`}.`,
    why,
    ...(todo.length === 0 ? [] : ["", "What to do:", ...todo.map((line) => `  ${line}`)]),
  ]
    .map(printable)
    .join("\n")
