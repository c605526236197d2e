// The URLs of targets, parsed and kept for a while.
import { expect, test } from "bun:test"
import { Bus } from "@punctual/bus/Bus"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { Effect } from "effect"
import { makeEventDeliverer } from "../../../src/deliverers/event/EventDeliverer.ts"
import { makeHandlerDeliverer } from "../../../src/deliverers/handler/HandlerDeliverer.ts"
import { HttpUrls } from "../../../src/deliverers/webhook/HttpUrls.ts"
import type { Target } from "../../../src/domain/Timer.ts"
import { timerRouting, timerTopics } from "../../../src/messaging/timerRouting.ts"

const targetOf = (url: string): Target => ({
  type: "webhook",
  url,
  method: "POST",
  timeoutMs: 1_000,
  body: "envelope",
})

test("targets that differ only in path or spelling have one host", () => {
  const urls = new HttpUrls()
  const hostOf = (url: string) => urls.of(targetOf(url))?.host
  expect(hostOf("https://Example.test/a")).toBe("example.test:443")
  expect(hostOf("https://example.test:443/b?c")).toBe("example.test:443")
  expect(hostOf("http://example.test/")).toBe("example.test:80")
  expect(hostOf("http://[::1]:8080/")).toBe("[::1]:8080")
})

test("no webhook has the host of events or handlers, so it shares no limit, breaker or refusal with them", async () => {
  const urls = new HttpUrls()
  const event = await Effect.map(Bus, makeEventDeliverer).pipe(
    Effect.provide(LocalBus.layer(timerRouting(timerTopics("shared")))),
    Effect.scoped,
    Effect.runPromise,
  )
  const others = [event.hostOf({ type: "event" }), makeHandlerDeliverer().hostOf({ type: "handler" })]
  for (const other of others) {
    for (const url of [`http://${other}/`, `https://${other}`, `http://${other}:1/`]) {
      expect(others).not.toContain(urls.of(targetOf(url))?.host ?? "")
    }
  }
})

test("a URL that is not HTTP has no host, every time", () => {
  const urls = new HttpUrls()
  for (const url of ["file:///etc/passwd", "s3://bucket/key", "not a url", "file:///etc/passwd"]) {
    expect(urls.of(targetOf(url))).toBeUndefined()
  }
  expect(urls.of({ type: "event" })).toBeUndefined()
})

test("a URL is parsed once while it is among the latest, and again after many others", () => {
  const urls = new HttpUrls()
  const first = urls.of(targetOf("https://example.test/0"))
  expect(urls.of(targetOf("https://example.test/0"))).toBe(first as NonNullable<typeof first>)
  for (let other = 1; other <= 1_000; other++) urls.of(targetOf(`https://example.test/${other}`))
  const again = urls.of(targetOf("https://example.test/0"))
  expect(again).not.toBe(first as NonNullable<typeof first>)
  expect(again?.url.href).toBe("https://example.test/0")
})
