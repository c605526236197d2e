// Limits, breakers and refusals belong to hosts, so the hosts of webhooks must differ from those of other targets.
import { expect, test } from "bun:test"
import { Bus } from "@punctual/bus/Bus"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { openEgress } from "@punctual/egress/Egress"
import { Effect } from "effect"
import { makeEventDeliverer } from "../../../src/deliverers/event/EventDeliverer.ts"
import { makeHandlerDeliverer } from "../../../src/deliverers/handler/HandlerDeliverer.ts"
import { makeWebhookDeliverer } from "../../../src/deliverers/webhook/WebhookDeliverer.ts"
import type { Target } from "../../../src/domain/Timer.ts"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"

const targetOf = (url: string): Target => ({
  type: "webhook",
  url,
  method: "POST",
  timeoutMs: 1_000,
  body: "envelope",
})

const { hostOf } = makeWebhookDeliverer({ egress: openEgress })

test("no webhook has the host of events or handlers, so it shares no limit, breaker or refusal with them", async () => {
  const event = await Effect.map(Bus, makeEventDeliverer).pipe(
    Effect.provide(LocalBus.layer(timerRouting(timerTopics("shared")))),
    Effect.scoped,
    Effect.runPromise,
  )
  const others = [event.hostOf({ type: "event" }), makeHandlerDeliverer().hostOf({ type: "handler" })]
  for (const other of others) {
    for (const url of [`http://${other}/`, `https://${other}`, `http://${other}:1/`]) {
      expect(others).not.toContain(hostOf(targetOf(url)))
    }
  }
})

test("a target that is no webhook has no host here", () => {
  expect(hostOf({ type: "event" })).toBe("")
  expect(hostOf(targetOf("https://example.test/a"))).toBe("example.test:443")
})
