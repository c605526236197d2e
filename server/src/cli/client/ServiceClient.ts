// How commands ask a running service: over the API that everyone uses, so that they work wherever that can be
// reached. Requests and answers are texts of JSON with the contract's schemas around them, because a payload must
// come and go as it is: parsed and written again, its large numbers would be others.
import { ProblemDocument } from "@punctual/api/Problem"
import { Effect, Option, Result, Schema, SchemaParser } from "effect"
import { Flag } from "effect/cli"
import { urlName } from "../../settings/Settings.ts"
import { CommandFailed, Output, type OutputClosed, printable, switchFlag } from "../frame/CommandRuntime.ts"
import { layOutJson } from "../frame/layOutJson.ts"

/** What the program that starts a command gives it. */
export interface CommandInput {
  /** Where the service is, if its flag does not say. */
  readonly environmentUrl: string | undefined
  /** What a file named - is read from. */
  readonly stdin: () => AsyncIterable<Uint8Array>
}

/** JSON that goes into a request as it stands. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The fields of a request; those that are undefined are left out. */
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
/** Longer than a service under load takes, and short of where one believes that nothing happens any more. */
const answerWithinMs = 30_000
/** A page of timers with the largest payloads. */
const answerBytesMax = 128 * 1024 * 1024

/** What every command that asks a service takes. */
export const serviceFlags = ({ environmentUrl }: CommandInput) => ({
  url: Flag.String("url").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(`Where the service is (default ${urlName}, or ${defaultUrl})`),
    // A variable that is set to nothing is not set.
    Flag.withDefault(environmentUrl === undefined || environmentUrl === "" ? defaultUrl : environmentUrl),
    Flag.filter(isServiceUrl, () => `a URL that reads http://host:port (--url, or ${urlName})`),
  ),
  json: switchFlag("json", "Answer JSON, for programs"),
})

const isServiceUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/[?#]/.test(text)

/** Why a service gave no answer, for a command that may try again. */
export interface ServiceFailure {
  /** For people. */
  readonly message: string
  /** What the service said when it refused. Absent if nothing answered, or something else than this service. */
  readonly problem?: ProblemDocument
  /** Nothing answered: the service is away, or it did not answer in time and may have done what it was asked. */
  readonly isUnreachable: boolean
}

/** Asks once, and never repeats. A caller that needs the result asks the service for it. */
export const callService = <A>(
  url: string,
  call: ServiceCall<A>,
): Effect.Effect<Answered<A>, CommandFailed> =>
  Effect.mapError(tryService(url, call), ({ message }) => new CommandFailed({ message }))

/** The same, with a failure that says more. */
export const tryService = <A>(
  url: string,
  { path, fields, answer, withinMs = answerWithinMs }: ServiceCall<A>,
): Effect.Effect<Answered<A>, ServiceFailure> => {
  const base = url.replace(/\/+$/, "")
  const place = base.replace(/:\/\/.*@/, "://…@")
  return Effect.tryPromise({
    try: (signal) => exchange(`${base}/api/v1${path}`, requestText(fields), signal),
    catch: (error) => unreachable(`no service answers at ${place} (${reason(error)}): see --url.`),
  }).pipe(
    Effect.timeoutOrElse({
      duration: withinMs,
      orElse: () =>
        Effect.fail(
          unreachable(
            `${place} has not answered within ${withinMs / 1_000} s; it may have done what it was asked.`,
          ),
        ),
    }),
    Effect.flatMap(({ status, text }) => {
      if (status !== 200) return Effect.fail(refusal(place, status, text))
      const decoded = SchemaParser.decodeUnknownResult(answer)(parsed(text))
      return Result.isSuccess(decoded)
        ? Effect.succeed({ value: decoded.success, text })
        : Effect.fail(failed(`${place} answered with something else: is it a Punctual of this version?`))
    }),
  )
}

/** The answer as it came, laid out. */
export const answerJson = (text: string): Effect.Effect<void, OutputClosed, Output> =>
  Effect.flatMap(Output, ({ answer }) => answer(layOutJson(text)))

/** What a command found out itself, in the same form. */
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

/** What the problem document says, with every field that was wrong; else only the status. */
const refusal = (place: string, status: number, text: string): ServiceFailure => {
  const read = Schema.decodeUnknownOption(ProblemDocument)(parsed(text))
  if (Option.isNone(read)) return failed(`${place} answered ${status}: is it a Punctual of this version?`)
  const { code, detail, errors = [], retryAfterSeconds } = read.value
  if (code === "notFound") return failed(`${place} does not know this call: it is of another version.`)
  const found = errors.map(({ pointer, detail: what }) =>
    pointer === "" ? what : `${pointer.slice(1).replaceAll("/", ".")} ${what}`,
  )
  const what = found.length > 0 ? `${found.join("; ")}.` : detail
  const again = retryAfterSeconds === undefined ? "" : ` Try again after ${retryAfterSeconds} s.`
  return { ...failed(`refused (${code}): ${what}${again}`), problem: read.value }
}
