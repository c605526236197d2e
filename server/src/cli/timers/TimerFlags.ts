// What commands about timers are told: keys, times, filters and JSON, each checked as far as the contract's grammar
// goes without the limits of a service, which only that service knows.
import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant } from "@punctual/api/Instant"
import { Namespace } from "@punctual/api/Namespace"
import { TimerId } from "@punctual/api/TimerId"
import { Effect, Option, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { type CommandInput, JsonText, type RequestFields } from "../client/ServiceClient.ts"
import { CommandFailed, printable } from "../frame/CommandRuntime.ts"

export const namespaceArgument = Argument.String("NAMESPACE").pipe(
  Argument.filter(Schema.is(Namespace), () => "1 to 100 of A-Z, a-z, 0-9, _ and -, not beginning with _"),
  Argument.withDescription("The namespace"),
)

export const timerIdArgument = Argument.String("TIMER_ID").pipe(
  Argument.filter(Schema.is(TimerId), () => "1 to 255 bytes of text without control characters"),
  Argument.withDescription("The timer's id"),
)

export const instantFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("INSTANT"),
    Flag.withDescription(description),
    Flag.filter(
      (text) => parseInstant(text) !== undefined,
      () => "an instant with an offset, such as 2030-01-01T09:00:00Z",
    ),
    Flag.optional,
  )

export const durationFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("DURATION"),
    Flag.withDescription(description),
    Flag.filter(
      (text) => parseDuration(text) !== undefined,
      () => "a duration, such as 90s, 1h30m, 250ms or 7d",
    ),
    Flag.optional,
  )

export const textFlag = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

export const jsonFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("JSON"),
    Flag.withDescription(description),
    Flag.filter(isJson, () => "JSON text"),
    Flag.map((text) => new JsonText(text)),
    Flag.optional,
  )

export const countFlag = (name: string, description: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("N"),
    Flag.withDescription(description),
    Flag.filter(
      (count) => count >= 0,
      () => "a whole number",
    ),
    Flag.optional,
  )

/** Which timers are meant; `from` and `until` bound fireAt of pending timers and finishedAt of the others. */
export const filterFlags = {
  from: instantFlag("from", "Only those due, or finished, at this instant or later"),
  until: instantFlag("until", "Only those due, or finished, before this instant"),
  idPrefix: textFlag("id-prefix", "TEXT", "Only those whose id begins with this"),
  correlationId: textFlag("correlation-id", "ID", "Only those with this correlation id"),
  tag: textFlag("tag", "TAG", "Only those with this tag"),
}

export interface Filter {
  readonly from: Option.Option<string>
  readonly until: Option.Option<string>
  readonly idPrefix: Option.Option<string>
  readonly correlationId: Option.Option<string>
  readonly tag: Option.Option<string>
}

/** The filter as a request has it. */
export const filterFields = ({ from, until, idPrefix, correlationId, tag }: Filter): RequestFields => ({
  from: Option.getOrUndefined(from),
  until: Option.getOrUndefined(until),
  idPrefix: Option.getOrUndefined(idPrefix),
  correlationId: Option.getOrUndefined(correlationId),
  tag: Option.getOrUndefined(tag),
})

export const hasFilter = (filter: Filter): boolean =>
  [filter.from, filter.until, filter.idPrefix, filter.correlationId, filter.tag].some(Option.isSome)

/** Nothing that was left out may stand in a filter. */
export const definedIn = (fields: RequestFields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** How many of them were given. */
export const countGiven = (...given: ReadonlyArray<boolean>): number => given.filter(Boolean).length

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** More than any service takes in one request. */
const fileBytesMax = 16 * 1024 * 1024

export const fileFlag = (name: string, description: string) =>
  Flag.Path(name, { pathType: "file" }).pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(`${description}; - is stdin`),
    // Paths come made absolute.
    Flag.map((path) => (path === resolve("-") ? "-" : path)),
    Flag.optional,
  )

/** The text of a file that a flag names. */
export const fileText = (input: CommandInput, path: string): Effect.Effect<string, CommandFailed> =>
  Effect.tryPromise({
    try: () => textOf(path === "-" ? input.stdin() : createReadStream(path)),
    catch: (error) =>
      new CommandFailed({
        message: printable(
          `${placeShown(path)} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
        ),
      }),
  })

const textOf = async (source: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.byteLength
    if (bytes > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`)
    chunks.push(chunk)
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks, bytes))
}

const placeShown = (path: string): string => (path === "-" ? "stdin" : path)

/** The JSON of a file that a flag names, as it stands there. */
export const fileJson = (input: CommandInput, path: string): Effect.Effect<JsonText, CommandFailed> =>
  Effect.flatMap(fileText(input, path), (text) =>
    isJson(text)
      ? Effect.succeed(new JsonText(text.trim()))
      : Effect.fail(new CommandFailed({ message: printable(`${placeShown(path)} is not JSON.`) })),
  )

export const secretFileFlag = fileFlag(
  "secret-file",
  "The same from a file, one a line, so that it stands in no history",
)

/** The secrets in a file that a flag names. */
export const secretsIn = (input: CommandInput, path: string) =>
  Effect.flatMap(fileText(input, path), (text) => {
    const secrets = text.split(/\s+/).filter((word) => word !== "")
    return secrets.length > 0
      ? Effect.succeed(secrets)
      : Effect.fail(new CommandFailed({ message: printable(`there is no secret in ${placeShown(path)}.`) }))
  })
