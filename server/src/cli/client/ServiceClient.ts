// Commands call a running service over the public API, through the client library. Requests and answers stay JSON text
// beside the decoded values, because a payload must not change: parsing it and writing it again would change large
// numbers.
import { readFileSync } from "node:fs"
import { ProblemDocument } from "@punctual/api/Problem"
import { Punctual, PunctualError, type TransportRequest } from "@punctual/client"
import { Effect, Option, Result, Schema, SchemaParser } from "effect"
import { Flag } from "effect/cli"
import type { Environment } from "../../settings/Configuration.ts"
import { type ClientKeyRead, keyFileFlag, readClientKey } from "../../settings/clientKey.ts"
import { apiKeyFileName, apiKeyName, settings, urlName } from "../../settings/Settings.ts"
import { CommandFailed, Output, type OutputClosed, printable, switchFlag } from "../frame/CommandRuntime.ts"
import { layOutJson } from "../frame/layOutJson.ts"
import { type ServiceAddress, shownUrl } from "./ServiceAddress.ts"
import { whatHelps } from "./whatHelps.ts"

/** Input that the main program gives to a command. */
export interface CommandInput {
  /** Contains the URL of the service and the key, if no flags give them. */
  readonly environment: Environment
  /** The source for a file named `-`. */
  readonly stdin: () => AsyncIterable<Uint8Array>
}

/** The fields of a request. Fields that are `undefined` are left out. A `RawJson` goes into the request unchanged. */
export type RequestFields = Readonly<Record<string, unknown>>

export interface ClientCall<A> {
  /** Below /api/v1. */
  readonly path: string
  readonly fields: RequestFields
  readonly answer: Schema.ConstraintDecoder<A>
  /** For calls that may take longer than others. */
  readonly withinMs?: number
}

export interface Answered<A> {
  readonly value: A
  /** The JSON that the service answered. */
  readonly text: string
}

const defaultUrl = "http://127.0.0.1:8080"
/** Longer than a service under load takes, and short enough that the user still waits. */
const answerWithinMs = 30_000
/** The client needs a URL. The transport sends to the real one, which may contain a password. */
const anyUrl = "http://service"

/** The flags of every command that calls a service. */
export const serviceFlags = (input: CommandInput) => {
  const { url, readKey } = addressFlags(input)
  return {
    /** Together their values are a `ServiceAddress`. */
    service: { url: url.pipe(Flag.map(Option.getOrElse(() => usualUrl(input)))), readKey },
    json: switchFlag("json", "Print JSON, for programs"),
  }
}

/** The parts of an address, for commands that need to know whether the URL is given by the flag. */
export const addressFlags = (input: CommandInput) => ({
  url: Flag.String("url").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(`The URL of the service (default ${urlName}, or ${defaultUrl})`),
    Flag.optional,
    Flag.filter(
      (url) => isServiceUrl(Option.getOrElse(url, () => usualUrl(input))),
      () => `a URL such as http://host:port (--url, or ${urlName})`,
    ),
  ),
  readKey: Flag.String(keyFileFlag.slice("--".length)).pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription(`A file with the key to send (default ${apiKeyName}, or ${apiKeyFileName})`),
    Flag.optional,
    Flag.map(
      (keyFile): ServiceAddress["readKey"] =>
        ({ url }) =>
          readClientKey(input.environment, { keyFile: Option.getOrUndefined(keyFile), url }),
    ),
  ),
})

/** The URL if no flag gives one. An empty variable counts as not set. */
export const usualUrl = ({ environment }: CommandInput): string => environment[urlName] || defaultUrl

const isServiceUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/[?#]/.test(text)

/** Why a call failed, for a command that may retry. */
export interface ServiceFailure {
  /** For people. */
  readonly message: string
  /** The problem document of a refusal. Absent if nothing answered, or something other than this service. */
  readonly problem?: ProblemDocument
  /** The service is unreachable, or it did not answer in time and may have carried out the call. */
  readonly isUnreachable: boolean
}

/** Whether the call may succeed later without any change by the user. */
export const isPassing = ({ isUnreachable, problem }: ServiceFailure): boolean =>
  isUnreachable || problem?.status === 503 || problem?.status === 429

/** Calls once and never retries. After a failure the caller must ask the service for the state. */
export const callService = <A>(
  service: ServiceAddress,
  call: ClientCall<A>,
): Effect.Effect<Answered<A>, CommandFailed> =>
  Effect.mapError(tryService(service, call), ({ message }) => new CommandFailed({ message }))

/** The same, with a more detailed failure. */
export const tryService = <A>(
  service: ServiceAddress,
  { path, fields, answer, withinMs = answerWithinMs }: ClientCall<A>,
): Effect.Effect<Answered<A>, ServiceFailure> => {
  const place = shownUrl(service).replace(/\/+$/, "")
  const key = service.readKey(service)
  if ("problem" in key) return Effect.fail(failed(key.problem))
  const punctual = new Punctual({
    url: anyUrl,
    key: key.key?.text ?? null,
    timeoutMs: withinMs,
    maxRetries: 0,
    transport: (url, init) => connected({ url: baseOf(service) + url.slice(anyUrl.length), init }),
  })
  return Effect.tryPromise({
    try: (signal) => punctual.exchange(operationOf(path), fields, { signal }),
    catch: (error) => failureOf(error, { place, service, key, withinMs }),
  }).pipe(
    Effect.flatMap(({ value, text }) => {
      const decoded = SchemaParser.decodeUnknownResult(answer)(value)
      return Result.isSuccess(decoded)
        ? Effect.succeed({ value: decoded.success, text })
        : Effect.fail(failed(unreadable(place)))
    }),
  )
}

/** `/timers/create` is the operation `timers.create`, and `/cluster` is `cluster.cluster`. */
const operationOf = (path: string): string => {
  const [, group, name = group] = path.split("/")
  return `${group}.${name}`
}

const baseOf = ({ url }: ServiceAddress): string => url.replace(/\/+$/, "")

const unreadable = (place: string): string =>
  `the answer of ${place} cannot be read. Check that it is a Punctual service of the same version.`

interface FailedCall {
  readonly place: string
  readonly service: ServiceAddress
  readonly key: ClientKeyRead
  readonly withinMs: number
}

/** What a failure of the client library means for a person. */
const failureOf = (error: unknown, { place, service, key, withinMs }: FailedCall): ServiceFailure => {
  if (!(error instanceof PunctualError)) return failed(reason(error))
  const { code, status, problem, cause } = error
  if (code === "timeout") {
    return unreachable(
      `${place} did not answer within ${withinMs / 1_000} s. It may have carried out the call.`,
    )
  }
  if (status === undefined) return away(place, service, cause ?? error)
  if (status === 200) return failed(unreadable(place))
  return refusal({ place, status, problem, key })
}

const away = (place: string, service: ServiceAddress, error: unknown): ServiceFailure =>
  unreachable(
    `the service at ${place} is unreachable (${reason(error)}). ${whatHelps(service.url, reason(error))}`,
  )

export interface ServiceStream {
  /** Below /api/v1, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The bytes of an answer, as they arrive. */
export interface ChunkReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** Begins to read an answer that does not end. The caller must cancel the reader. */
export const streamService = (
  service: ServiceAddress,
  { path, headers }: ServiceStream,
  within: { readonly answerMs: number },
): Effect.Effect<ChunkReader, ServiceFailure> => {
  const place = shownUrl(service).replace(/\/+$/, "")
  const key = service.readKey(service)
  if ("problem" in key) return Effect.fail(failed(key.problem))
  const isAway = (error: unknown) => away(place, service, error)
  const authorization = key.key === undefined ? {} : { authorization: `Bearer ${key.key.text}` }
  return Effect.tryPromise({
    try: (signal) =>
      connected({
        url: `${baseOf(service)}/api/v1${path}`,
        // A redirect could lead to another origin, which must not get the key.
        init: { method: "GET", headers: { ...headers, ...authorization }, redirect: "manual", signal },
      }),
    catch: isAway,
  }).pipe(
    Effect.timeoutOrElse({
      duration: within.answerMs,
      orElse: () => Effect.fail(unreachable(`${place} did not answer within ${within.answerMs / 1_000} s.`)),
    }),
    Effect.flatMap((response) => {
      const body = response.body
      if (response.status === 200 && body !== null) return Effect.succeed(body.getReader())
      return Effect.flatMap(Effect.tryPromise({ try: () => response.text(), catch: isAway }), (text) =>
        Effect.fail(refusal({ place, status: response.status, problem: parsed(text), key })),
      )
    }),
  )
}

/** Reads a path that needs no key, such as /health/ready: its status and, if it is JSON, its body. */
export const readOpenPath = (
  service: ServiceAddress,
  path: string,
  withinMs: number,
): Effect.Effect<{ readonly status: number; readonly body: unknown }, ServiceFailure> => {
  const place = shownUrl(service).replace(/\/+$/, "")
  return Effect.tryPromise({
    try: async (signal) => {
      const init = { method: "GET", headers: {}, redirect: "manual", signal } as const
      const response = await connected({ url: `${baseOf(service)}${path}`, init })
      return { status: response.status, body: parsed(await response.text()) }
    },
    catch: (error) => away(place, service, error),
  }).pipe(
    Effect.timeoutOrElse({
      duration: withinMs,
      orElse: () => Effect.fail(unreachable(`${place} did not answer within ${withinMs / 1_000} s.`)),
    }),
  )
}

/** Prints the answer unchanged except for white space. */
export const answerJson = (text: string): Effect.Effect<void, OutputClosed, Output> =>
  Effect.flatMap(Output, ({ answer }) => answer(layOutJson(text)))

/** Prints a value of the command in the same form. */
export const answerValue = (value: unknown): Effect.Effect<void, OutputClosed, Output> =>
  answerJson(JSON.stringify(value))

interface Connected {
  readonly url: string
  readonly init: TransportRequest
}

const connected = ({ url, init }: Connected): Promise<Response> => {
  // The runtime's fetch uses HTTP_PROXY and similar variables. Commands connect directly.
  process.env["NO_PROXY"] = "*"
  return fetch(url, { ...init, ...ownAuthority() })
}

/** The authority that signed the certificate of the service, if the environment names one. */
const ownAuthority = (): { readonly tls?: { readonly ca: string } } => {
  const { name, parse } = settings.tlsCaFile
  const file = process.env[name] ?? ""
  if (file === "") return {}
  const read = parse(file)
  if ("problem" in read) throw new Error(`${name} ${read.problem}`)
  return { tls: { ca: readFileSync(read.value, "utf8") } }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const failed = (message: string): ServiceFailure => ({ message: printable(message), isUnreachable: false })

const unreachable = (message: string): ServiceFailure => ({
  message: printable(message),
  isUnreachable: true,
})

const reason = (error: unknown): string =>
  error instanceof Error ? ("code" in error ? String(error.code) : error.message) : String(error)

interface RefusedCall {
  readonly place: string
  readonly status: number
  /** What was answered, if it is JSON. */
  readonly problem: unknown
  readonly key: ClientKeyRead
}

/** The text of the problem document with all wrong fields, or only the status if there is no problem document. */
const refusal = ({ place, status, problem, key }: RefusedCall): ServiceFailure => {
  const read = Schema.decodeUnknownOption(ProblemDocument)(problem)
  if (Option.isNone(read))
    return failed(`${place} answered ${status}. Check that it is a Punctual service of the same version.`)
  const { code, detail } = read.value
  if (code === "notFound") return failed(`${place} does not know this call: its version is different.`)
  if (code === "unauthorized") {
    return { ...failed(unauthorizedText(place, detail, key)), problem: read.value }
  }
  const source = code === "forbidden" && key.key !== undefined ? ` The key is that of ${key.key.source}.` : ""
  return { ...failed(`${refusalText(read.value)}${source}`), problem: read.value }
}

/** A problem document for people, with all wrong fields. */
export const refusalText = ({ code, detail, errors = [], retryAfterSeconds }: ProblemDocument): string => {
  const found = errors.map(({ pointer, detail: what }) =>
    pointer === "" ? what : `${pointer.slice(1).replaceAll("/", ".")} ${what}`,
  )
  const what = found.length > 0 ? `${found.join("; ")}.` : detail
  const again = retryAfterSeconds === undefined ? "" : ` Retry after ${retryAfterSeconds} s.`
  return `refused (${code}): ${what}${again}`
}

/** Distinguishes a missing key from a wrong one, and says what to set. */
const unauthorizedText = (place: string, detail: string, { key, whyNoAdminKey }: ClientKeyRead): string => {
  if (key !== undefined) return `refused (unauthorized): the key of ${key.source} was refused. ${detail}`
  const admin = whyNoAdminKey === undefined ? "" : ` ${whyNoAdminKey}`
  return `refused (unauthorized): ${place} needs a key, and none was sent. Set ${apiKeyFileName} to a file that contains a key, or set ${apiKeyName}, or use ${keyFileFlag}.${admin}`
}
