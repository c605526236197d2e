// One test delivery of a command. The code of real deliveries makes the request and judges the answer; see
// ports/TrialDelivery.ts. The egress rules do not apply, because the user of the command chooses the URL.
import { randomUUID } from "node:crypto"
import { formatDuration } from "@punctual/api/DurationMs"
import { defaultLimits } from "@punctual/api/Limits"
import { Clock, Effect } from "effect"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { Attempted, Fire } from "../../ports/Deliverer.ts"
import type { TrialDelivery } from "../../ports/TrialDelivery.ts"
import { interpretAnswer } from "./interpretAnswer.ts"
import { isJsonSuccess } from "./readAnswer.ts"
import { webhookRequest } from "./WebhookRequest.ts"

/** The same limit as in the service. */
const answerBytesMax = 64 * 1024
/** At most this much of the answer is shown. */
const shownCharsMax = 1_000
const timeoutMs = defaultLimits.timeoutDefaultMs

export const trialDelivery: TrialDelivery = ({ url, secrets, payload, timerId }) =>
  Effect.gen(function* () {
    const startedMs = yield* Clock.currentTimeMillis
    const target: WebhookTarget = { type: "webhook", url, method: "POST", timeoutMs, body: "envelope" }
    const fire: Fire = {
      namespace: "test",
      timerId,
      fireId: randomUUID(),
      attempt: 1,
      maxAttempts: 1,
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
      exchange(url, headers, body, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])),
    )
    const endedMs = yield* Clock.currentTimeMillis
    return {
      ...exchanged,
      durationMs: endedMs - startedMs,
      request: { headers, body: new TextDecoder().decode(body) },
    }
  })

interface Exchanged {
  readonly delivery: Attempted
  readonly answer?: string
}

const exchange = async (
  url: string,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer> | undefined,
  signal: AbortSignal,
): Promise<Exchanged> => {
  // The runtime's fetch uses HTTP_PROXY and similar variables. The service does not, so the test must not either.
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
