// A test delivery that the command sends itself, signed by a secret that it is given. The request is made, and the answer
// judged, by the code that the service uses, so what is shown is what a receiver gets. The egress rules of the service
// are not part of it.
import { randomUUID } from "node:crypto"
import { formatDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { defaultLimits } from "@punctual/api/Limits"
import { Clock, Effect } from "effect"
import { interpretAnswer } from "../../deliverers/webhook/interpretAnswer.ts"
import { isJsonSuccess } from "../../deliverers/webhook/readAnswer.ts"
import { webhookRequest } from "../../deliverers/webhook/WebhookRequest.ts"
import type { Delivery, NextTime } from "../../domain/Delivery.ts"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { TestOutcome } from "./TestOutcome.ts"

/** As much as the service reads of an answer. */
const answerBytesMax = 64 * 1024
/** As much as is shown of it. */
const shownCharsMax = 1_000

export interface DirectTest {
  readonly url: string
  readonly secrets: ReadonlyArray<Uint8Array>
  /** JSON. */
  readonly payload: string
  readonly timerId: string
  readonly timeoutMs?: number
}

export const sentByCommand = (test: DirectTest): Effect.Effect<TestOutcome> =>
  Effect.gen(function* () {
    const { url, secrets, payload, timerId, timeoutMs = defaultLimits.timeoutDefaultMs } = test
    const startedMs = yield* Clock.currentTimeMillis
    const target: WebhookTarget = { type: "webhook", url, method: "POST", timeoutMs, body: "envelope" }
    const fire = {
      namespace: "test",
      timerId,
      fireId: randomUUID(),
      attempt: 1,
      epoch: 1,
      revision: 1,
      executeAt: startedMs,
      firedAt: startedMs,
      correlationId: randomUUID(),
      target,
      payload: new TextEncoder().encode(payload),
    }
    const { headers, body } = webhookRequest(fire, target, startedMs, secrets)
    const exchanged = yield* Effect.promise((signal) =>
      exchange(url, headers, body, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]), timeoutMs),
    )
    const endedMs = yield* Clock.currentTimeMillis
    const { delivery, answer } = exchanged
    return {
      ...judged(delivery),
      durationMs: endedMs - startedMs,
      signed: secrets.length === 1 ? "by the secret that was given" : `by ${secrets.length} secrets`,
      request: { headers, body: new TextDecoder().decode(body) },
      ...(answer === undefined ? {} : { answer }),
    }
  })

interface Exchanged {
  readonly delivery: Delivery
  readonly answer?: string
}

const exchange = async (
  url: string,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer> | undefined,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Exchanged> => {
  // The runtime's fetch uses HTTP_PROXY and the like. The service does not, so the test does not, either.
  process.env["NO_PROXY"] = "*"
  try {
    const response = await fetch(url, {
      method: "POST",
      headers,
      redirect: "manual",
      decompress: false,
      signal,
      ...(body === undefined ? {} : { body }),
    })
    const read = await beginningOf(response)
    const json =
      isJsonSuccess(response) && read.text !== undefined ? { text: read.text, isCut: read.isCut } : undefined
    const { status } = response
    return {
      delivery: interpretAnswer(
        { status, headers: response.headers, body: json },
        Date.now(),
        defaultLimits.payloadBytes,
      ),
      answer: shown(read.text),
    }
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError"
    const code = error instanceof Error && "code" in error ? String(error.code) : "no connection"
    return {
      delivery: {
        kind: "retry",
        error: isLate ? `no whole answer within ${formatDuration(timeoutMs)}` : `nothing answers (${code})`,
        isHostFailure: true,
      },
    }
  }
}

const beginningOf = async (
  response: Response,
): Promise<{ readonly text?: string; readonly isCut: boolean }> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes > answerBytesMax) break
  }
  try {
    const beginning = Buffer.concat(chunks, bytes).subarray(0, answerBytesMax)
    const isCut = bytes > answerBytesMax
    return { text: new TextDecoder("utf-8", { fatal: !isCut }).decode(beginning), isCut }
  } catch {
    return { isCut: false }
  }
}

const shown = (text: string | undefined): string => {
  if (text === undefined) return "(bytes that are not text)"
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax)}…`
}

const judged = (delivery: Delivery): Pick<TestOutcome, "verdict" | "detail" | "status" | "error"> => {
  const status = delivery.status === undefined ? {} : { status: delivery.status }
  switch (delivery.kind) {
    case "delivered":
      return { verdict: "delivered", ...status }
    case "rearm":
      return { verdict: "armedAgain", detail: nextText(delivery.next), ...status }
    case "retry": {
      const { error, next, retryAfterMs } = delivery
      const detail =
        next === undefined
          ? retryAfterMs === undefined
            ? "by default after 5 s, then 20 s and so on, 10 attempts in all"
            : `not before ${formatDuration(retryAfterMs)}, as the answer asks`
          : nextText(next)
      return { verdict: "retry", detail, error, ...status }
    }
    case "dead":
      return { verdict: "dead", detail: delivery.reason, error: delivery.error, ...status }
  }
}

const nextText = (next: NextTime): string =>
  "atMs" in next ? `at ${formatInstant(next.atMs)}` : `in ${formatDuration(next.inMs)}`
