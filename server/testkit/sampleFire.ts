// An attempt for tests of deliverers.
import type { Target, WebhookTarget } from "../src/domain/Timer.ts"
import type { Fire } from "../src/ports/Deliverer.ts"

export const sampleFire = (target: Target, fields: Partial<Fire> = {}): Fire => ({
  namespace: "billing",
  timerId: "invoice-1",
  fireId: "0194fdc2-fa2f-7fb1-8a3c-1b2c3d4e5f60",
  attempt: 1,
  maxAttempts: 10,
  epoch: 1,
  revision: 1,
  executeAt: 0,
  firedAt: 1,
  correlationId: "c",
  payload: undefined,
  target,
  ...fields,
})

export const sampleWebhook = (url: string, fields: Partial<WebhookTarget> = {}): WebhookTarget => ({
  type: "webhook",
  url,
  method: "POST",
  timeoutMs: 5_000,
  body: "envelope",
  ...fields,
})
