// Commands call a running service over the public API. Requests and answers stay JSON text beside the decoded values,
// because a payload must not change: parsing it and writing it again would change large numbers.
import { ProblemDocument } from "@punctual/api/Problem"
import { Effect, Option, Result, Schema, SchemaParser } from "effect"
import { Flag } from "effect/cli"
import { urlName } from "../../settings/Settings.ts"
import { CommandFailed, Output, type OutputClosed, printable, switchFlag } from "../frame/CommandRuntime.ts"
import { layOutJson } from "../frame/layOutJson.ts"

/** Input that the main program gives to a command. */
export interface CommandInput {
  /** The URL of the service, if there is no --url. */
  readonly environmentUrl: string | undefined
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

export interface ServiceCall<A> {
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
export const serviceFlags = ({ environmentUrl }: CommandInput) => ({
  url: Flag.String("url").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(`The URL of the service (default ${urlName}, or ${defaultUrl})`),
    // An empty variable counts as not set.
    Flag.withDefault(environmentUrl === undefined || environmentUrl === "" ? defaultUrl : environmentUrl),
    Flag.filter(isServiceUrl, () => `a URL such as http://host:port (--url, or ${urlName})`),
  ),
  json: switchFlag("json", "Print JSON, for programs"),
})

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

/** What a user can do if nothing answers at the URL. */
const howToReach = `Is it running? Start it with npm start or punctual serve. If it listens elsewhere, set ${urlName} or --url.`

/** Calls once and never retries. After a failure the caller must ask the service for the state. */
export const callService = <A>(
  url: string,
  call: ServiceCall<A>,
): Effect.Effect<Answered<A>, CommandFailed> =>
  Effect.mapError(tryService(url, call), ({ message }) => new CommandFailed({ message }))

/** The same, with a more detailed failure. */
export const tryService = <A>(
  url: string,
  { path, fields, answer, withinMs = answerWithinMs }: ServiceCall<A>,
): Effect.Effect<Answered<A>, ServiceFailure> => {
  const base = url.replace(/\/+$/, "")
  const place = base.replace(/:\/\/.*@/, "://…@")
  return Effect.tryPromise({
    try: (signal) => exchange(`${base}/api/v1${path}`, requestText(fields), signal),
    catch: (error) => unreachable(`the service at ${place} is unreachable (${reason(error)}). ${howToReach}`),
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
      if (status !== 200) return Effect.fail(refusal(place, status, text))
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

const exchange = async (
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> => {
  // The runtime's fetch uses HTTP_PROXY and similar variables. Commands connect directly.
  process.env["NO_PROXY"] = "*"
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    redirect: "manual",
    signal,
  })
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > answerBytesMax) throw new Error(`its answer has more than ${answerBytesMax} bytes`)
    chunks.push(chunk)
  }
  return { status: response.status, text: Buffer.concat(chunks, bytes).toString("utf8") }
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

/** The text of the problem document with all wrong fields, or only the status if there is no problem document. */
const refusal = (place: string, status: number, text: string): ServiceFailure => {
  const read = Schema.decodeUnknownOption(ProblemDocument)(parsed(text))
  if (Option.isNone(read))
    return failed(`${place} answered ${status}. Check that it is a Punctual service of the same version.`)
  const { code, detail, errors = [], retryAfterSeconds } = read.value
  if (code === "notFound") return failed(`${place} does not know this call: its version is different.`)
  const found = errors.map(({ pointer, detail: what }) =>
    pointer === "" ? what : `${pointer.slice(1).replaceAll("/", ".")} ${what}`,
  )
  const what = found.length > 0 ? `${found.join("; ")}.` : detail
  const again = retryAfterSeconds === undefined ? "" : ` Retry after ${retryAfterSeconds} s.`
  return { ...failed(`refused (${code}): ${what}${again}`), problem: read.value }
}
