// `punctual doctor`: examines a store. It reads the store as of one instant, beside a running service, and changes
// nothing. A problem makes the exit code 1; a remark for the operator does not.
import { Clock, Effect, Option, type Scope } from "effect"
import { Command } from "effect/cli"
import type { SealingKeys } from "../../engine/namespaces/SealingKeys.ts"
import { type CommandEgress, egressRemark } from "../../maintenance/egressRemark.ts"
import { sealingRemark } from "../../maintenance/sealingRemark.ts"
import type { StoreExamination } from "../../ports/StoreReport.ts"
import { asCommandFailed } from "../frame/asCommandFailed.ts"
import { CommandFailed, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { diagnose, overdueGraceMs } from "./diagnosis.ts"
import { doctorJson, doctorText } from "./doctorText.ts"
import { storeFlag } from "./exportArchive.ts"

export interface ExaminedStore extends StoreExamination {
  /** The name of the store for people, without credentials. */
  readonly shown: string
  /** The keys that open its webhook secrets. */
  readonly keys: SealingKeys
  readonly egress: CommandEgress
}

/** Opens the store that the flag or the settings name. */
export type OpenExamination = (
  storeUrl: string | undefined,
) => Effect.Effect<ExaminedStore, { readonly message: string }, Scope.Scope>

const sayAfterMs = 2_000

export const doctorCommand = (open: OpenExamination) =>
  Command.make(
    "doctor",
    {
      store: storeFlag,
      full: switchFlag(
        "full",
        "Check the whole structure of the file, including indexes; this may take long",
      ),
      json: switchFlag("json", "Print one JSON object"),
    },
    ({ store, full, json }) =>
      Effect.gen(function* () {
        const { answer, remark } = yield* Output
        const examined = yield* asCommandFailed(open(Option.getOrUndefined(store)))
        yield* Effect.forkScoped(
          Effect.delay(Effect.ignore(remark("Counting all timers in the store …")), sayAfterMs),
        )
        const nowMs = yield* Clock.currentTimeMillis
        const report = yield* asCommandFailed(
          examined.examine({
            overdueBeforeMs: nowMs - overdueGraceMs,
            overdueBeforeMsIfPaused: nowMs,
            isFull: full,
          }),
        ).pipe(Effect.mapError(withStoreHint))
        const ofKey = yield* sealingRemark(report.sealed, examined.keys)
        const ofEgress = yield* egressRemark(report, examined.egress)
        const found = diagnose(report)
        const more = [ofEgress, ofKey].flatMap((sentence) => sentence ?? [])
        const diagnosis = { ...found, remarks: [...found.remarks, ...more] }
        const shown = { place: examined.shown, nowMs, report, diagnosis }
        yield* answer(json ? doctorJson(shown) : doctorText(shown))
        const count = diagnosis.problems.length
        if (count > 0) {
          return yield* new CommandFailed({
            message: `${count === 1 ? "something is" : `${count} things are`} wrong with the store: see above.`,
          })
        }
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Examine a store: what it contains, whether its counts agree, and which timers are overdue or dead.",
        "  A service may run on the store at the same time. The command writes nothing.",
        "  The exit code is 0 if nothing is wrong, 1 if something is, 2 for wrong usage.",
      ].join("\n"),
    ),
    Command.withShortDescription("Examine a store: counts, overdue timers, problems"),
    Command.withExamples([
      { command: "punctual doctor" },
      { command: "punctual doctor --full --json --store sqlite:./data/punctual.db" },
    ]),
  )

/** The message of a store that does not exist names only the place. The user needs to know where the place comes from. */
const withStoreHint = ({ message }: CommandFailed): CommandFailed =>
  new CommandFailed({
    message: message.startsWith("There is no store")
      ? `${message} It comes from --store or TIMER_STORE_URL.`
      : message,
  })
