/** Signed requests for tests of handlers, without a service. */
import { newTimerId } from "../core/newTimerId.ts"
import { jsonText } from "../core/RawJson.ts"
import type { TimerFired } from "../webhook/TimerEvent.ts"
import { signWebhook } from "../webhook/verify.ts"

/** What to put into the request. Everything has a default. */
export interface RequestToSign extends Partial<Omit<TimerFired, "type">> {
  /** The secret of the handler; without one the request is not signed. */
  readonly secret?: string | undefined
  readonly url?: string | undefined
}

/** A request as Punctual sends it: `await receive(await signedRequest({ secret, payload: { order: 7 } }))`. */
export const signedRequest = async ({
  secret,
  url = "http://localhost/hooks",
  ...fields
}: RequestToSign = {}): Promise<Request> => {
  const nowMs = Date.now()
  const now = new Date(nowMs).toISOString()
  const event: TimerFired = {
    type: "timer.fired",
    namespace: "test",
    timerId: "timer-1",
    fireId: await newTimerId(nowMs),
    attempt: 1,
    maxAttempts: 10,
    epoch: 1,
    revision: nowMs,
    executeAt: now,
    firedAt: now,
    correlationId: "test",
    ...fields,
  }
  const body = new TextEncoder().encode(jsonText(event))
  const timestampSeconds = Math.floor(nowMs / 1000)
  const signed =
    secret === undefined
      ? {}
      : { "webhook-signature": await signWebhook({ id: event.fireId, timestampSeconds }, body, secret) }
  return new Request(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": event.fireId,
      "webhook-timestamp": String(timestampSeconds),
      ...signed,
      "punctual-namespace": event.namespace,
      "punctual-timer-id": encodeURIComponent(event.timerId),
      "punctual-execute-at": event.executeAt,
      "punctual-attempt": String(event.attempt),
      "punctual-epoch": String(event.epoch),
      ...(event.tags === undefined ? {} : { "punctual-tags": event.tags.map(encodeURIComponent).join(",") }),
    },
    body,
  })
}
