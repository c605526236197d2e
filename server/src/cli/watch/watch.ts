// `punctual watch`: a live view of what is due, in flight and done. It asks the public API once a second or so. A service
// that goes away is waited for: the view says so, and goes on when the service is back.
import { parseDuration } from "@punctual/api/DurationMs"
import { Namespace } from "@punctual/api/Namespace"
import { Effect, Option, Result, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { type CommandInput, type ServiceFailure, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, Output } from "../frame/CommandRuntime.ts"
import { namespacesMost, type Snapshot, type WatchedChange, WatchPoll } from "./WatchPoll.ts"
import { awayLines, changeJson, changeText, viewLines } from "./watchText.ts"

const intervalMs = { min: 200, max: 60_000 }
/** How long to wait before a service that is away is asked again. */
const awayWaitMs = 2_000
const latestKept = 20

export const watchCommand = (input: CommandInput) =>
  Command.make(
    "watch",
    {
      namespaces: Flag.String("namespace").pipe(
        Flag.withMetavar("NAMESPACE"),
        Flag.withDescription(`Only this namespace; may be given again, up to ${namespacesMost} times`),
        Flag.filter(Schema.is(Namespace), () => "1 to 100 of A-Z, a-z, 0-9, _ and -, not beginning with _"),
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
    ({ namespaces, everyMs, url, json }) =>
      Effect.gen(function* () {
        const output = yield* Output
        const stopped = yield* output.untilStopped
        const shown = url.replace(/:\/\/.*@/, "://…@")
        const { columns } = output
        const view =
          json || columns === undefined ? new LinesView(output, json) : new ScreenView(output, shown, columns)
        yield* Effect.raceFirst(
          watching(new WatchPoll(url, [...new Set(namespaces)]), view, everyMs),
          stopped,
        )
      }),
  ).pipe(
    Command.withDescription(
      [
        "Show what happens: what is due next, what is in flight, the latest outcomes, and counts by namespace.",
        "  On a terminal it draws a view again and again. Elsewhere it writes a line for each change, and with --json an",
        "  object a line. It reads the API once a second; of very many outcomes in a second it shows the latest.",
        `  Without --namespace it watches the first ${namespacesMost} namespaces. It ends with Ctrl-C, and the exit code is 0.`,
        "  It waits for a service that goes away, and goes on when the service is back.",
      ].join("\n"),
    ),
    Command.withShortDescription("Watch what is due, in flight and done"),
    Command.withExamples([
      { command: "punctual watch" },
      { command: "punctual watch --namespace billing --json | jq -r .timerId" },
    ]),
  )

type OutputService = Output["Service"]
type Drawn = ReturnType<OutputService["answer"]>

interface View {
  show(snapshot: Snapshot): Drawn
  /** Called once when the service stops to answer. */
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
      // What fails at once is a wrong URL, or another version: waiting would not help.
      if (turn === 1 || !isPassing(failure)) return yield* new CommandFailed({ message: failure.message })
      if (!isAway) yield* view.away(failure.message)
      isAway = true
      yield* Effect.sleep(awayWaitMs)
    }
  })

const isPassing = ({ isUnreachable, problem }: ServiceFailure): boolean =>
  isUnreachable || problem?.status === 503 || problem?.status === 429

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

  show({ changes, hasMissed, namespaces }: Snapshot): Drawn {
    const lines = [
      ...(this.#isAway ? [this.#note("back", "The service answers again.")] : []),
      ...(this.#isFirst
        ? [
            this.#note(
              "watching",
              `Watching ${namespaces.map(({ namespace }) => namespace).join(", ") || "for namespaces"} (Ctrl-C ends it)`,
            ),
          ]
        : []),
      ...(hasMissed ? [this.#note("missed", "More has happened than is shown.")] : []),
      ...changes.map(this.#json ? changeJson : changeText),
    ]
    this.#isAway = false
    this.#isFirst = false
    return lines.length === 0 ? Effect.void : this.#output.answer(lines.join("\n"))
  }

  away(message: string): Drawn {
    this.#isAway = true
    return this.#output.answer(this.#note("away", `The service does not answer; trying again: ${message}`))
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
