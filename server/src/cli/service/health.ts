// `punctual health`: the probe of a container. An image without a shell has no curl, but it has this command.
import { Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { answerValue, type CommandInput, readOpenPath, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, Output, printable, switchFlag } from "../frame/CommandRuntime.ts"

/** Shorter than the time that supervisors usually give a probe. */
const answerWithinMs = 4_000

const decodeHealth = Schema.decodeUnknownOption(
  Schema.Struct({ reasons: Schema.optionalKey(Schema.Array(Schema.String)) }),
)

export const healthCommand = (input: CommandInput) =>
  Command.make(
    "health",
    {
      live: switchFlag("live", "Ask whether the process is live, not whether it can take timers"),
      ...serviceFlags(input),
    },
    ({ live, service, json }) =>
      Effect.gen(function* () {
        const path = live ? "/health/live" : "/health/ready"
        const { status, body } = yield* Effect.mapError(
          readOpenPath(service, path, answerWithinMs),
          ({ message }) => new CommandFailed({ message }),
        )
        const health = decodeHealth(body)
        if (json && health._tag === "Some") yield* answerValue(body)
        if (status === 200) {
          const { answer } = yield* Output
          return json ? undefined : yield* answer(live ? "live" : "ready")
        }
        const reasons = health._tag === "Some" ? (health.value.reasons ?? []) : []
        const why = reasons.length === 0 ? `${path} answered ${status}` : reasons.join("; ")
        return yield* new CommandFailed({ message: printable(`not ${live ? "live" : "ready"}: ${why}`) })
      }),
  ).pipe(
    Command.withDescription(
      [
        "Ask the service whether it can take timers. It needs no key.",
        "  The exit code is 0 if it can, and 1 otherwise: a probe for containers and supervisors.",
      ].join("\n"),
    ),
    Command.withShortDescription("Ask whether the service can take timers"),
    Command.withExamples([{ command: "punctual health" }, { command: "punctual health --live" }]),
  )
