// Commands call a running service over the public API. Requests and answers stay JSON text beside the decoded values,
// because a payload must not change: parsing it and writing it again would change large numbers.
import { readFileSync } from "node:fs"
import { ProblemDocument } from "@punctual/api/Problem"
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

/** JSON text that goes into a request unchanged. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The fields of a request. Fields that are `undefined` are left out. */
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
/** Enough for a page of timers with the largest payloads. */
const answerBytesMax = 128 * 1024 * 1024

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
  const request: ServiceRequest = {
    url: `${service.url.replace(/\/+$/, "")}/api/v1${path}`,
    body: requestText(fields),
    key: key.key?.text,
  }
  return Effect.tryPromise({
    try: (signal) => exchange(request, signal),
    catch: (error) =>
      unreachable(
        `the service at ${place} is unreachable (${reason(error)}). ${whatHelps(service.url, reason(error))}`,
      ),
  }).pipe(
    Effect.timeoutOrElse({
      duration: withinMs,
      orElse: () =>
        Effect.fail(
          unreachable(
            `${place} did not answer within ${withinMs / 1_000} s. It may have carried out the call.`,
          ),
        ),
    }),
    Effect.flatMap(({ status, text }) => {
      if (status !== 200) return Effect.fail(refusal({ place, status, text, key }))
      const decoded = SchemaParser.decodeUnknownResult(answer)(parsed(text))
      return Result.isSuccess(decoded)
        ? Effect.succeed({ value: decoded.success, text })
        : Effect.fail(
            failed(
              `the answer of ${place} cannot be read. Check that it is a Punctual service of the same version.`,
            ),
          )
    }),
  )
}

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
  const away = (error: unknown) =>
    unreachable(
      `the service at ${place} is unreachable (${reason(error)}). ${whatHelps(service.url, reason(error))}`,
    )
  return Effect.tryPromise({
    try: (signal) =>
      connected({
        url: `${service.url.replace(/\/+$/, "")}/api/v1${path}`,
        key: key.key?.text,
        init: { method: "GET", headers, signal },
      }),
    catch: away,
  }).pipe(
    Effect.timeoutOrElse({
      duration: within.answerMs,
      orElse: () => Effect.fail(unreachable(`${place} did not answer within ${within.answerMs / 1_000} s.`)),
    }),
    Effect.flatMap((response) => {
      const body = response.body
      if (response.status === 200 && body !== null) return Effect.succeed(body.getReader())
      return Effect.flatMap(Effect.tryPromise({ try: () => response.text(), catch: away }), (text) =>
        Effect.fail(refusal({ place, status: response.status, text, key })),
      )
    }),
  )
}

/** Prints the answer unchanged except for white space. */
export const answerJson = (text: string): Effect.Effect<void, OutputClosed, Output> =>
  Effect.flatMap(Output, ({ answer }) => answer(layOutJson(text)))

/** Prints a value of the command in the same form. */
export const answerValue = (value: unknown): Effect.Effect<void, OutputClosed, Output> =>
  answerJson(JSON.stringify(value))

export const requestText = (fields: RequestFields): string => {
  const members = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return []
    return [`${JSON.stringify(name)}:${value instanceof JsonText ? value.text : JSON.stringify(value)}`]
  })
  return `{${members.join(",")}}`
}

interface ServiceRequest {
  readonly url: string
  readonly body: string
  readonly key: string | undefined
}

const exchange = async (
  { url, body, key }: ServiceRequest,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> => {
  const headers = { "content-type": "application/json" }
  const response = await connected({ url, key, init: { method: "POST", headers, body, signal } })
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > answerBytesMax) throw new Error(`its answer has more than ${answerBytesMax} bytes`)
    chunks.push(chunk)
  }
  return { status: response.status, text: Buffer.concat(chunks, bytes).toString("utf8") }
}

interface Connected extends Pick<ServiceRequest, "url" | "key"> {
  readonly init: RequestInit & { readonly headers: Readonly<Record<string, string>> }
}

const connected = ({ url, key, init }: Connected): Promise<Response> => {
  // The runtime's fetch uses HTTP_PROXY and similar variables. Commands connect directly.
  process.env["NO_PROXY"] = "*"
  return fetch(url, {
    ...init,
    headers: { ...init.headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    // A redirect could lead to another origin, which must not get the key.
    redirect: "manual",
    ...ownAuthority(),
  })
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
  readonly text: string
  readonly key: ClientKeyRead
}

/** The text of the problem document with all wrong fields, or only the status if there is no problem document. */
const refusal = ({ place, status, text, key }: RefusedCall): ServiceFailure => {
  const read = Schema.decodeUnknownOption(ProblemDocument)(parsed(text))
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
