// One OTLP request over HTTP, and what its answer means: https://opentelemetry.io/docs/specs/otlp/#otlphttp-response.
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { readText } from "@punctual/egress/readAnswer"
import { Effect } from "effect"
import type { SendResult } from "./Exporter.ts"
import type { OtlpEndpoint } from "./telemetrySettings.ts"

/** More of an answer is not read. */
const answerBytes = 4_096
const messageCharsMost = 200
const longestRetryAfterMs = 60_000

const retryStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

const compress = promisify(gzip)

/** Never fails, and ends within the timeout of the endpoint. */
export const postBatch = (
  { url, headers, timeoutMs, isCompressed }: OtlpEndpoint,
  contentType: string,
  body: Uint8Array<ArrayBuffer>,
): Effect.Effect<SendResult> =>
  Effect.tryPromise({
    try: async (signal): Promise<SendResult> => {
      // Compression runs on a thread of its own.
      const sent = isCompressed ? new Uint8Array(await compress(body)) : body
      const response = await fetch(url, {
        method: "POST",
        headers: {
          ...headers,
          "content-type": contentType,
          "accept-encoding": "identity",
          ...(isCompressed ? { "content-encoding": "gzip" } : {}),
        },
        body: sent,
        redirect: "manual",
        // A few hundred bytes may become hundreds of megabytes.
        decompress: false,
        signal,
      })
      const text = (await readText(response, answerBytes, timeoutMs))?.text ?? ""
      return resultOf(response.status, response.headers.get("retry-after"), text)
    },
    catch: (error) => (error instanceof Error && "code" in error ? String(error.code) : "no connection"),
  }).pipe(
    Effect.catch((why) => Effect.succeed<SendResult>({ kind: "retry", why })),
    Effect.timeoutOrElse({
      duration: timeoutMs,
      orElse: () => Effect.succeed<SendResult>({ kind: "retry", why: `no answer within ${timeoutMs} ms` }),
    }),
  )

export const resultOf = (status: number, retryAfter: string | null, text: string): SendResult => {
  if (status >= 200 && status < 300) return takenOf(text)
  const why = `it answered ${status}`
  if (!retryStatuses.has(status)) return { kind: "refused", why }
  const seconds = retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined
  return {
    kind: "retry",
    why,
    ...(seconds === undefined ? {} : { afterMs: Math.min(seconds * 1_000, longestRetryAfterMs) }),
  }
}

/** A collector may take a part of a batch. Answers in protobuf are not read. */
const takenOf = (text: string): SendResult => {
  const answer = parsed(text)
  const partial = isObject(answer) ? answer["partialSuccess"] : undefined
  if (!isObject(partial)) return { kind: "taken", rejected: 0 }
  const rejected = Number(partial["rejectedSpans"] ?? partial["rejectedLogRecords"] ?? 0)
  const why = partial["errorMessage"]
  return {
    kind: "taken",
    rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
    ...(typeof why === "string" && why !== "" ? { why: why.slice(0, messageCharsMost) } : {}),
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null
