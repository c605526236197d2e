// One test delivery of a command; see ports/TrialDelivery.ts. The deliverer of the service makes the request and judges
// the answer. The egress rules do not apply, because the user of the command chooses the URL.
import { randomUUID } from "node:crypto"
import { defaultLimits } from "@punctual/api/Limits"
import { openEgress } from "@punctual/egress/Egress"
import { type AnswerBody, readText } from "@punctual/egress/readAnswer"
import { Clock, Effect } from "effect"
import type { Fire } from "../../ports/Deliverer.ts"
import type { Trial, TrialDelivery } from "../../ports/TrialDelivery.ts"
import { type ExchangeObserver, makeWebhookDeliverer } from "./WebhookDeliverer.ts"
import type { webhookRequest } from "./WebhookRequest.ts"

/** At most this much of the answer is shown. */
const shownBytesMax = 1_000
/** How long the command waits for text that it only shows. */
const shownWithinMs = 1_000

export const trialDelivery: TrialDelivery = (trial) =>
  Effect.gen(function* () {
    const seen = new SeenExchange()
    const deliverer = makeWebhookDeliverer({
      egress: openEgress,
      secretsOf: () => trial.secrets,
      observer: seen,
    })
    const startedMs = yield* Clock.currentTimeMillis
    const delivery = yield* deliverer.deliver(fireOf(trial, startedMs))
    if (delivery.kind === "egressRefused") throw new Error("open egress rules have refused a URL")
    const endedMs = yield* Clock.currentTimeMillis
    const answer = yield* Effect.promise(() => seen.answer())
    return {
      delivery,
      durationMs: endedMs - startedMs,
      request: seen.request,
      ...(answer === undefined ? {} : { answer }),
    }
  })

const fireOf = ({ url, payload, timerId }: Trial, nowMs: number): Fire => ({
  namespace: "test",
  timerId,
  fireId: randomUUID(),
  attempt: 1,
  maxAttempts: 1,
  epoch: 1,
  revision: 1,
  executeAt: nowMs,
  firedAt: nowMs,
  correlationId: randomUUID(),
  target: {
    type: "webhook",
    url,
    method: "POST",
    timeoutMs: defaultLimits.timeoutDefaultMs,
    body: "envelope",
  },
  payload: new TextEncoder().encode(payload),
})

class SeenExchange implements ExchangeObserver {
  request: { readonly headers: Readonly<Record<string, string>>; readonly body: string } = {
    headers: {},
    body: "",
  }
  #body: AnswerBody | undefined
  #unread: Response | undefined

  sent({ headers, body }: ReturnType<typeof webhookRequest>): void {
    this.request = { headers, body: new TextDecoder().decode(body) }
  }

  read(body: AnswerBody | undefined): void {
    this.#body = body
  }

  unread(response: Response): void {
    this.#unread = response
  }

  /** The beginning of the answer. The service does not read every body, so this may read it after the judgement. */
  async answer(): Promise<string | undefined> {
    const unread = this.#unread
    const body = unread === undefined ? this.#body : await readText(unread, shownBytesMax, shownWithinMs)
    if (body === undefined) return undefined
    const { text, isCut } = body
    return isCut || text.length > shownBytesMax ? `${text.slice(0, shownBytesMax)}…` : text
  }
}
