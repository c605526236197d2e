// The bare limit of P6: the fetch of the same runtime posts the same webhooks, with a fixed number at once.
import { samplePayload } from "../samplePayload.ts"

/** Returns posts per second. */
export const postAll = async (url: string, posts: number, atOnce: number): Promise<number> => {
  const id = crypto.randomUUID()
  const now = new Date().toISOString()
  const body = JSON.stringify({
    type: "timer.fired",
    namespace: "bench",
    timerId: id,
    fireId: id,
    attempt: 1,
    maxAttempts: 10,
    epoch: 1,
    revision: Date.now(),
    executeAt: now,
    firedAt: now,
    correlationId: id,
    payload: samplePayload,
  })
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": "1800000000",
    traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
    "punctual-namespace": "bench",
    "punctual-timer-id": id,
    "punctual-execute-at": now,
    "punctual-attempt": "1",
    "punctual-epoch": "1",
  }
  let started = 0
  const startedAt = performance.now()
  const sender = async () => {
    while (started++ < posts) {
      const response = await fetch(url, { method: "POST", headers, body })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return (posts / (performance.now() - startedAt)) * 1_000
}
