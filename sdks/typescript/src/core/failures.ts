/** What a failed try means: which error it is, and whether the service may have carried out the request. */
import type { ProblemDocument } from "../contract/problems.ts"
import { errorOf, type PunctualError } from "../errors.ts"
import type { RepeatClass } from "./repeats.ts"

/** Codes of connections that were never made, in Node, Bun and Deno. Browsers do not say. */
const refusedCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "FailedToOpenSocket",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
])

const codeIn = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : undefined

/** The error of a try without an answer. */
export const noAnswer = (error: unknown, place: string): PunctualError => {
  const cause = error instanceof Error ? error.cause : undefined
  const code = codeIn(error) ?? codeIn(cause)
  const why = code ?? (error instanceof Error ? error.message : String(error))
  const isRefused = (code !== undefined && refusedCodes.has(code)) || /connection refused/i.test(why)
  return errorOf({
    code: isRefused ? "connectionRefused" : "connectionLost",
    message: isRefused
      ? `there is no connection to ${place} (${why})`
      : `the connection to ${place} was lost (${why})`,
    written: isRefused ? "no" : "unknown",
    retryable: true,
    cause: error,
  })
}

/** The error of a try that took too long. */
export const tookTooLong = (timeoutMs: number, place: string): PunctualError =>
  errorOf({
    code: "timeout",
    message: `${place} did not answer within ${timeoutMs} ms`,
    written: "unknown",
    retryable: true,
  })

/** The error of a call that the caller's signal ended. */
export const wasAborted = (reason: unknown): PunctualError =>
  errorOf({
    code: "aborted",
    message: "the caller's signal ended the call",
    written: "unknown",
    retryable: false,
    cause: reason,
  })

/** An answer that is no success. */
export interface BadAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly place: string
}

/** Answers that gateways give for a service that they cannot reach. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504])

/** The error of an answer that is no success. */
export const badAnswer = ({ status, headers, text, place }: BadAnswer): PunctualError => {
  const requestId = headers.get("x-request-id") ?? undefined
  const problem = problemIn(text)
  if (problem === undefined) {
    return errorOf({
      code: "unreadableAnswer",
      message: `${place} answered ${status}, and not in the words of Punctual: check the URL`,
      status,
      requestId,
      written: status >= 400 && status < 500 ? "no" : "unknown",
      retryable: gatewayStatuses.has(status),
    })
  }
  const { code, detail, errors = [], written = status === 500 ? "unknown" : "no" } = problem
  const fields = errors.map((error) =>
    `${error.pointer.slice(1).replaceAll("/", ".")} ${error.detail}`.trim(),
  )
  return errorOf({
    code,
    message: `${code}: ${fields.length > 0 ? fields.join("; ") : detail}`,
    status,
    requestId,
    problem,
    written,
    retryable: status === 408 || status === 429 || status === 503,
    retryAfterMs: retryAfterMsOf(problem, headers),
  })
}

const problemIn = (text: string): ProblemDocument | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    const isProblem =
      typeof value === "object" && value !== null && "code" in value && typeof value.code === "string"
    return isProblem ? (value as ProblemDocument) : undefined
  } catch {
    return undefined
  }
}

/** The service writes both. The field also reaches pages in browsers, which do not see the header. */
const retryAfterMsOf = (problem: ProblemDocument, headers: Headers): number | undefined => {
  const seconds = problem.retryAfterSeconds ?? Number.parseInt(headers.get("retry-after") ?? "", 10)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

/** Whether another try is harmless and may help. */
export const mayRepeat = (error: PunctualError, repeats: RepeatClass): boolean =>
  error.retryable && (error.written === "no" || repeats !== "never")

/** The error for the caller, after all tries: a read writes nothing, and an earlier try may have written something. */
export const withWritten = (error: PunctualError, written: PunctualError["written"]): PunctualError =>
  error.written === written
    ? error
    : errorOf({ ...error, message: error.message, cause: error.cause, written })
