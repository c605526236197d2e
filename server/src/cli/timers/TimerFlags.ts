// Flags and arguments of the commands about timers: keys, times, filters and JSON. They are checked by the grammar of
// the contract. Only the service knows its limits, so the limits are not checked here.

import { createReadStream } from "node:fs"
import { resolve } from "node:path"
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant, whyNoInstant } from "@punctual/api/Instant"
import { Namespace } from "@punctual/api/Namespace"
import { everyNamespace, NamespaceChoices } from "@punctual/api/NamespaceChoices"
import { errorClasses, finishReasons, listStates } from "@punctual/api/TimerFilter"
import { TimerId } from "@punctual/api/TimerId"
import { RawJson } from "@punctual/client"
import { Effect, Option, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import type { CommandInput, RequestFields } from "../client/ServiceClient.ts"
import { CommandFailed, printable } from "../frame/CommandRuntime.ts"

export const namespaceArgument = Argument.String("NAMESPACE").pipe(
  Argument.filter(
    Schema.is(Namespace),
    () => "1 to 100 characters of A-Z, a-z, 0-9, _ and -, not beginning with _",
  ),
  Argument.withDescription("The namespace"),
)

const isChoices = Schema.is(NamespaceChoices)

/** Several namespaces, for lists and counts. */
export const namespacesArgument = Argument.String("NAMESPACE").pipe(
  Argument.map((text) => text.split(",")),
  Argument.filter(
    isChoices,
    () => "up to 20 namespaces separated by commas, prefixes such as team-*, or * alone",
  ),
  Argument.withDescription(
    "The namespace, or several: a,b or 'team-*' (at most 1,000) or '*' for all (only pending and dead)",
  ),
)

/** The request fields for one namespace or several. */
export const namespaceFields = (choices: ReadonlyArray<string>): RequestFields => {
  const [only] = choices
  return choices.length === 1 && Schema.is(Namespace)(only) ? { namespace: only } : { namespaces: choices }
}

const isStates = (states: ReadonlyArray<string>): boolean =>
  new Set(states).size === states.length &&
  states.every((state) => (listStates as ReadonlyArray<string>).includes(state))

/** The default is pending. */
export const statesFlag = Flag.String("state").pipe(
  Flag.withMetavar("STATE"),
  Flag.withDescription(
    `The state: ${listStates.join(", ")}, or several separated by commas (default pending)`,
  ),
  Flag.map((text) => text.split(",")),
  Flag.filter(isStates, () => `${listStates.join(", ")}, or several of them separated by commas`),
  Flag.withDefault(["pending"]),
)

/** The request fields for one state or several. */
export const stateFields = (states: ReadonlyArray<string>): RequestFields =>
  states.length === 1 ? { state: states[0] } : { states }

export const timerIdArgument = Argument.String("TIMER_ID").pipe(
  Argument.filter(
    Schema.is(TimerId),
    () => "1 to 255 bytes of text without control characters (U+0000 to U+001F, U+007F to U+009F)",
  ),
  Argument.withDescription("The timer's id"),
)

export const instantFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("INSTANT"),
    Flag.withDescription(description),
    Flag.filter((text) => parseInstant(text) !== undefined, whyNoInstant),
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
    Flag.map((text) => new RawJson(text)),
    Flag.optional,
  )

export const countFlag = (name: string, description: string) =>
  wholeFlag(name, 0, "a whole number").pipe(Flag.withDescription(description), Flag.optional)

/** A flag with a whole number of at least `least`. */
export const wholeFlag = (name: string, least: number, expected: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("N"),
    Flag.filter(
      (text) => /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) && Number(text) >= least,
      () => expected,
    ),
    Flag.map(Number),
  )

const errorFlag = Flag.Literals("error", errorClasses).pipe(
  Flag.withMetavar("CLASS"),
  Flag.withDescription("Only timers whose last attempt failed in this way"),
  Flag.optional,
)

/** Select timers. `from` and `until` apply to fireAt of pending timers and to finishedAt of finished timers. */
export const filterFlags = {
  from: instantFlag("from", "Only timers due, or finished, at this instant or later"),
  until: instantFlag("until", "Only timers due, or finished, before this instant"),
  idPrefix: textFlag("id-prefix", "TEXT", "Only timers whose id begins with this text"),
  correlationId: textFlag("correlation-id", "ID", "Only timers with this correlation id"),
  tag: textFlag("tag", "TAG", "Only timers with this tag"),
  host: textFlag("host", "HOST", "Only timers with a webhook to this host: a name, or name:port"),
  error: errorFlag,
  minLateness: durationFlag(
    "min-lateness",
    "Only timers delivered this late or later, and pending timers overdue by at least this",
  ),
}

/** Pending and delivered timers have no reason. */
export const reasonFlag = Flag.Literals("reason", finishReasons).pipe(
  Flag.withMetavar("REASON"),
  Flag.withDescription("Only dead letters and cancelled timers with this reason"),
  Flag.optional,
)

/** Why the service would refuse the list, in the words of the command line; nothing if it would not. */
export const whyNotScope = (
  namespaces: ReadonlyArray<string>,
  states: ReadonlyArray<string>,
  reason: Option.Option<string> = Option.none(),
): string | undefined => {
  if (namespaces[0] === everyNamespace && states.some((state) => state !== "pending" && state !== "dead")) {
    return "'*' is only for --state pending and --state dead: name the namespaces for other states."
  }
  if (Option.isSome(reason) && states.every((state) => state === "pending" || state === "delivered")) {
    return "--reason needs --state dead or --state cancelled."
  }
  return undefined
}

export interface Filter {
  readonly from: Option.Option<string>
  readonly until: Option.Option<string>
  readonly idPrefix: Option.Option<string>
  readonly correlationId: Option.Option<string>
  readonly tag: Option.Option<string>
  readonly host: Option.Option<string>
  readonly error: Option.Option<string>
  readonly minLateness: Option.Option<string>
  readonly reason?: Option.Option<string>
}

/** The request fields of the filter. */
export const filterFields = ({ reason = Option.none(), ...filter }: Filter): RequestFields => ({
  from: Option.getOrUndefined(filter.from),
  until: Option.getOrUndefined(filter.until),
  idPrefix: Option.getOrUndefined(filter.idPrefix),
  correlationId: Option.getOrUndefined(filter.correlationId),
  tag: Option.getOrUndefined(filter.tag),
  host: Option.getOrUndefined(filter.host),
  reason: Option.getOrUndefined(reason),
  error: Option.getOrUndefined(filter.error),
  minLateness: Option.getOrUndefined(filter.minLateness),
})

export const hasFilter = (filter: Filter): boolean =>
  Object.values(filterFields(filter)).some((value) => value !== undefined)

/** Removes fields without a value: a filter may not contain them. */
export const definedIn = (fields: RequestFields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

export const countGiven = (...given: ReadonlyArray<boolean>): number => given.filter(Boolean).length

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** More than any service accepts in one request. */
const fileBytesMax = 16 * 1024 * 1024

export const fileFlag = (name: string, description: string) => pathFlag(name, description).pipe(Flag.optional)

const pathFlag = (name: string, description: string) =>
  Flag.Path(name, { pathType: "file" }).pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(`${description}; - is stdin`),
    // Flag.Path makes paths absolute.
    Flag.map((path) => (path === resolve("-") ? "-" : path)),
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

/** The JSON text of a file that a flag names, unchanged. */
export const fileJson = (input: CommandInput, path: string): Effect.Effect<RawJson, CommandFailed> =>
  Effect.flatMap(fileText(input, path), (text) =>
    isJson(text)
      ? Effect.succeed(new RawJson(text.trim()))
      : Effect.fail(new CommandFailed({ message: printable(`${placeShown(path)} is not JSON.`) })),
  )

export const secretFileFlag = pathFlag(
  "secret-file",
  "The same from a file, one secret on each line, so that no secret is in the shell history",
).pipe(
  Flag.atLeast(0),
  Flag.filter(
    (paths) => paths.length <= 1,
    () => "give --secret-file once; the file may have two lines",
  ),
  Flag.map((paths) => Option.fromUndefinedOr(paths[0])),
)

/** The secrets in a file that a flag names. */
export const secretsIn = (input: CommandInput, path: string) =>
  Effect.flatMap(fileText(input, path), (text) => {
    const secrets = text.split(/\s+/).filter((word) => word !== "")
    return secrets.length > 0
      ? Effect.succeed(secrets)
      : Effect.fail(new CommandFailed({ message: printable(`there is no secret in ${placeShown(path)}.`) }))
  })
