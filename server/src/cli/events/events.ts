// `punctual events`: what happens to timers, one line for each event. It reads the event stream of the service. After an
// interruption it connects again and continues where it was.

import { mostNamespaceChoices } from "@punctual/api/NamespaceChoices"
import { timerEventTypes } from "@punctual/api/TimerEvents"
import { Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  type ChunkReader,
  type CommandInput,
  isPassing,
  serviceFlags,
  streamService,
} from "../client/ServiceClient.ts"
import { CommandFailed, Output, type OutputClosed } from "../frame/CommandRuntime.ts"
import { EventBlocks } from "./EventBlocks.ts"
import { eventJson, eventLine } from "./eventLine.ts"

/** How long to wait before the next try. */
const awayWaitMs = 500
const answerMs = 10_000
/** The service sends something every 15 s. */
const silentMs = 45_000

export const eventsCommand = (input: CommandInput) =>
  Command.make(
    "events",
    {
      namespaces: Flag.String("namespace").pipe(
        Flag.withMetavar("NAMESPACE"),
        Flag.withDescription(
          `Only this namespace, or a prefix followed by *; repeat the flag for up to ${mostNamespaceChoices}`,
        ),
        Flag.atMost(mostNamespaceChoices),
      ),
      types: Flag.Literals("type", timerEventTypes).pipe(
        Flag.withMetavar("TYPE"),
        Flag.withDescription(
          `Only this type of events: ${timerEventTypes.join(", ")}; repeat the flag for more`,
        ),
        Flag.atMost(timerEventTypes.length),
      ),
      ...serviceFlags(input),
    },
    ({ namespaces, types, service, json }) =>
      Effect.gen(function* () {
        const output = yield* Output
        const stopped = yield* output.untilStopped
        const query = new URLSearchParams({
          ...(namespaces.length === 0 ? {} : { namespaces: namespaces.join(",") }),
          ...(types.length === 0 ? {} : { types: [...new Set(types)].join(",") }),
        })
        const path = `/events/stream${query.size === 0 ? "" : `?${query}`}`
        yield* Effect.raceFirst(following({ service, path, json, output }), stopped)
      }),
  ).pipe(
    Command.withDescription(
      [
        "Follow what happens to timers, one line for each event. With --json each line is a JSON object.",
        "  If there are more than 50 events in a second, the rest comes as counts. If the connection is interrupted, the",
        "  command connects again and continues where it was. Press Ctrl-C to stop; the exit code is then 0.",
      ].join("\n"),
    ),
    Command.withShortDescription("Follow what happens to timers"),
    Command.withExamples([
      { command: "punctual events" },
      { command: "punctual events --namespace billing --type dead --type retried" },
      { command: "punctual events --json | jq -r .timerId" },
    ]),
  )

interface Following {
  readonly service: ServiceAddress
  readonly path: string
  readonly json: boolean
  readonly output: Output["Service"]
}

const following = ({ service, path, json, output }: Following) =>
  Effect.gen(function* () {
    const blocks = new EventBlocks()
    let isAway = false
    for (;;) {
      const begun = yield* Effect.result(
        streamService(service, { path, headers: headersOf(blocks) }, { answerMs }),
      )
      if (Result.isSuccess(begun)) {
        isAway = false
        yield* reading(begun.success, blocks, { json, output })
        blocks.interrupt()
        yield* Effect.sleep(awayWaitMs)
        continue
      }
      const { failure } = begun
      // If the first try fails, the URL is wrong or the version is different: waiting would not help.
      if (blocks.lastId === undefined || !isPassing(failure)) {
        return yield* new CommandFailed({ message: failure.message })
      }
      if (!isAway) yield* output.remark(`The service does not answer; trying again: ${failure.message}`)
      isAway = true
      yield* Effect.sleep(awayWaitMs)
    }
  })

const headersOf = ({ lastId }: EventBlocks): Readonly<Record<string, string>> => ({
  accept: "text/event-stream",
  ...(lastId === undefined ? {} : { "last-event-id": lastId }),
})

/** Ends when the stream ends, breaks, or is silent for too long. */
const reading = (
  reader: ChunkReader,
  blocks: EventBlocks,
  { json, output }: Pick<Following, "json" | "output">,
): Effect.Effect<void, OutputClosed> =>
  Effect.gen(function* () {
    for (;;) {
      const chunk = yield* Effect.tryPromise(() => reader.read()).pipe(
        Effect.timeout(silentMs),
        Effect.catch(() => Effect.succeed({ done: true, value: undefined })),
      )
      if (chunk.done || chunk.value === undefined) return
      const lines = blocks
        .take(chunk.value)
        .flatMap((block) => (json ? eventJson(block) : (eventLine(block) ?? [])))
      if (lines.length > 0) yield* output.answer(lines.join("\n"))
    }
  }).pipe(Effect.ensuring(Effect.promise(() => reader.cancel().catch(() => {}))))
