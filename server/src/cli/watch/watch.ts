// `punctual watch`: a live view of the timers that are due, in flight and finished. It asks the public API about once a
// second. If the service becomes unreachable, the view says so, and it continues when the service is back.
import { parseDuration } from "@punctual/api/DurationMs"
import { Namespace } from "@punctual/api/Namespace"
import { Effect, Option, Result, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { shownUrl } from "../client/ServiceAddress.ts"
import { type CommandInput, isPassing, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, Output } from "../frame/CommandRuntime.ts"
import { namespacesMost } from "./WatchedScopes.ts"
import { type Snapshot, type WatchedChange, WatchPoll } from "./WatchPoll.ts"
import { awayLines, changeJson, changeText, viewLines } from "./watchText.ts"

const intervalMs = { min: 200, max: 60_000 }
/** How long to wait before the next call to an unreachable service. */
const awayWaitMs = 2_000
const latestKept = 20

export const watchCommand = (input: CommandInput) =>
  Command.make(
    "watch",
    {
      namespaces: Flag.String("namespace").pipe(
        Flag.withMetavar("NAMESPACE"),
        Flag.withDescription(
          `Watch only this namespace; repeat the flag for up to ${namespacesMost} namespaces`,
        ),
        Flag.filter(
          Schema.is(Namespace),
          () => "1 to 100 characters of A-Z, a-z, 0-9, _ and -, not beginning with _",
        ),
        Flag.atMost(namespacesMost),
      ),
      everyMs: Flag.String("interval").pipe(
        Flag.withMetavar("DURATION"),
        Flag.withDescription("How often to ask the service (default 1s)"),
        Flag.withDefault("1s"),
        Flag.filterMap(
          (text) =>
            Option.filter(
              Option.fromUndefinedOr(parseDuration(text)),
              (everyMs) => everyMs >= intervalMs.min && everyMs <= intervalMs.max,
            ),
          () => "a duration from 200ms to 1m",
        ),
      ),
      ...serviceFlags(input),
    },
    ({ namespaces, everyMs, service, json }) =>
      Effect.gen(function* () {
        const output = yield* Output
        const stopped = yield* output.untilStopped
        const shown = shownUrl(service)
        const { columns } = output
        const view =
          json || columns === undefined ? new LinesView(output, json) : new ScreenView(output, shown, columns)
        yield* Effect.raceFirst(
          watching(new WatchPoll(service, [...new Set(namespaces)]), view, everyMs),
          stopped,
        )
      }),
  ).pipe(
    Command.withDescription(
      [
        "Show what happens: the timers due next, the timers in flight, the latest outcomes, and counts by namespace.",
        "  On a terminal it draws a live view. In a file or a pipe it writes one line for each change, and with --json one",
        "  JSON object for each change. It asks the API once a second. If there are very many outcomes, it shows the latest.",
        `  Without --namespace it watches the first ${namespacesMost} namespaces. The key needs timers.read there; what it may`,
        "  not see, such as a pause, is named. Press Ctrl-C to stop; the exit code is then 0.",
        "  If the service becomes unreachable, the command waits and continues when the service is back.",
      ].join("\n"),
    ),
    Command.withShortDescription("Watch the timers that are due, in flight and finished"),
    Command.withExamples([
      { command: "punctual watch" },
      { command: "punctual watch --namespace billing --json | jq -r .timerId" },
    ]),
  )

type OutputService = Output["Service"]
type Drawn = ReturnType<OutputService["answer"]>

interface View {
  show(snapshot: Snapshot): Drawn
  /** Called once when the service stops answering. */
  away(message: string): Drawn
}

const watching = (poll: WatchPoll, view: View, everyMs: number) =>
  Effect.gen(function* () {
    let isAway = false
    for (let turn = 1; ; turn++) {
      const read = yield* Effect.result(poll.next)
      if (Result.isSuccess(read)) {
        isAway = false
        yield* view.show(read.success)
        yield* Effect.sleep(everyMs)
        continue
      }
      const { failure } = read
      // A failure at the first turn means a wrong URL or another version: waiting would not help.
      if (turn === 1 || !isPassing(failure)) return yield* new CommandFailed({ message: failure.message })
      if (!isAway) yield* view.away(failure.message)
      isAway = true
      yield* Effect.sleep(awayWaitMs)
    }
  })

/** A line for each change, for files, pipes and programs. */
class LinesView implements View {
  readonly #output: OutputService
  readonly #json: boolean
  #isAway = false
  #isFirst = true

  constructor(output: OutputService, json: boolean) {
    this.#output = output
    this.#json = json
  }

  show({ changes, hasMissed, namespaces, hidden }: Snapshot): Drawn {
    const lines = [
      ...(this.#isAway ? [this.#note("back", "The service answers again.")] : []),
      ...(this.#isFirst
        ? [
            this.#note(
              "watching",
              `Watching ${namespaces.map(({ namespace }) => namespace).join(", ") || "for namespaces"} (press Ctrl-C to stop)`,
            ),
            ...hidden.map((message) => this.#note("hidden", message)),
          ]
        : []),
      ...(hasMissed ? [this.#note("missed", "More changes happened than are shown.")] : []),
      ...changes.map(this.#json ? changeJson : changeText),
    ]
    this.#isAway = false
    this.#isFirst = false
    return lines.length === 0 ? Effect.void : this.#output.answer(lines.join("\n"))
  }

  away(message: string): Drawn {
    this.#isAway = true
    return this.#output.answer(this.#note("away", `The service does not answer; retrying: ${message}`))
  }

  #note(change: string, message: string): string {
    return this.#json ? JSON.stringify({ change, message }) : message
  }
}

class ScreenView implements View {
  readonly #output: OutputService
  readonly #url: string
  readonly #columns: number
  #drawn = 0
  #latest: ReadonlyArray<WatchedChange> = []

  constructor(output: OutputService, url: string, columns: number) {
    this.#output = output
    this.#url = url
    this.#columns = columns
  }

  show(snapshot: Snapshot): Drawn {
    this.#latest = [...snapshot.changes.toReversed(), ...this.#latest].slice(0, latestKept)
    return this.#draw(viewLines(this.#url, snapshot, this.#latest, this.#columns))
  }

  away(message: string): Drawn {
    return this.#draw(awayLines(this.#url, message, this.#columns))
  }

  #draw(lines: ReadonlyArray<string>): Drawn {
    const replaced = this.#drawn
    this.#drawn = lines.length
    return this.#output.redraw(lines, replaced)
  }
}
