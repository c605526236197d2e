import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import { defaultLimits } from "../src/Limits.ts"
import { completeTarget, makeTargetInput, TargetSchema } from "../src/Target.ts"
import { decoded, refusalsOf } from "./refusals.ts"

const TargetInput = makeTargetInput(defaultLimits)
const webhook = { type: "webhook", url: "https://example.com/hook" }
const whichTypes = " must be an object whose type is webhook or event (inside a program also handler)"

describe("a target", () => {
  test("is completed with POST, 15 s and the envelope", () => {
    expect(completeTarget(decoded(TargetInput, webhook), defaultLimits)).toEqual({
      type: "webhook",
      url: "https://example.com/hook",
      method: "POST",
      timeoutMs: 15_000,
      body: "envelope",
    })
  })

  test("keeps given values, with the time-out in milliseconds", () => {
    const input = { ...webhook, method: "PUT", headers: { a: "b" }, timeout: "1m30s", body: "payload" }
    expect(completeTarget(decoded(TargetInput, input), defaultLimits)).toEqual({
      type: "webhook",
      url: "https://example.com/hook",
      method: "PUT",
      headers: { a: "b" },
      timeoutMs: 90_000,
      body: "payload",
    })
  })

  test("that is complete is answered with wire names, and decodes to the same target", () => {
    const target: typeof TargetSchema.Type = {
      type: "webhook",
      url: "http://a/",
      method: "POST",
      timeoutMs: 15_000,
      body: "envelope",
    }
    const encoded = Schema.encodeSync(TargetSchema)(target)
    expect(encoded).toEqual({
      type: "webhook",
      url: "http://a/",
      method: "POST",
      timeout: "15s",
      body: "envelope",
    })
    expect(Schema.decodeUnknownSync(TargetSchema)(encoded)).toEqual(target)
  })

  test("can be an event or a handler, which have no options", () => {
    for (const type of ["event", "handler"]) {
      const target: unknown = decoded(TargetInput, { type })
      expect(target).toEqual({ type })
      expect(refusalsOf(TargetInput, { type, url: "http://a/" })).toEqual([
        "/url is an unknown field: remove it, or use one of type",
      ])
    }
  })

  test("takes the methods that webhooks use, and no other", () => {
    for (const method of ["POST", "PUT", "PATCH", "GET", "DELETE"])
      expect(refusalsOf(TargetInput, { ...webhook, method })).toEqual([])
    for (const method of ["HEAD", "CONNECT", "TRACE", "post", "", 5]) {
      expect(refusalsOf(TargetInput, { ...webhook, method })).toEqual([
        "/method must be one of POST, PUT, PATCH, GET, DELETE",
      ])
    }
  })

  test("waits 1 to 300 s", () => {
    for (const timeout of ["1s", "300s"]) expect(refusalsOf(TargetInput, { ...webhook, timeout })).toEqual([])
    for (const timeout of ["999ms", "300001ms"])
      expect(refusalsOf(TargetInput, { ...webhook, timeout })).toEqual([
        "/timeout must be a duration from 1s to 5m (the service's settings TIMER_LIMIT_TIMEOUT_MIN and TIMER_LIMIT_TIMEOUT_MAX)",
      ])
  })

  test("is refused when its type is missing or unknown", () => {
    for (const body of [{}, { type: "smtp" }, { url: "http://a/" }, 5, null, "webhook"])
      expect(refusalsOf(TargetInput, body)).toEqual([whichTypes])
  })

  test("names every wrong field", () => {
    expect(refusalsOf(TargetInput, { type: "webhook", body: "xml", timeOut: "5s" })).toEqual([
      "/timeOut is an unknown field: did you mean timeout?",
      "/url is required",
      "/body must be one of envelope, payload",
    ])
  })
})
