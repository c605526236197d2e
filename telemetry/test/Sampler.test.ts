import { expect, test } from "bun:test"
import { type SamplerName, samplerOf } from "../src/Sampler.ts"
import { randomTraceIds, spanContextOf, traceparentText } from "../src/SpanContext.ts"

const parentOf = (isSampled: boolean) => ({
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  isSampled,
})

const decide = (name: SamplerName, parent: boolean | undefined, ratio = 1): boolean =>
  samplerOf({ name, ratio })(
    parent === undefined ? undefined : parentOf(parent),
    "4bf92f3577b34da6a3ce929d0e0e4736",
  )

test("a sampler that is based on the parent does what the parent does, and others decide by themselves", () => {
  expect(decide("parentbased_always_on", undefined)).toBe(true)
  expect(decide("parentbased_always_on", false)).toBe(false)
  expect(decide("parentbased_always_off", undefined)).toBe(false)
  expect(decide("parentbased_always_off", true)).toBe(true)
  expect(decide("parentbased_traceidratio", true, 0)).toBe(true)
  expect(decide("always_on", false)).toBe(true)
  expect(decide("always_off", true)).toBe(false)
  expect(decide("traceidratio", true, 0)).toBe(false)
  expect(decide("traceidratio", false, 1)).toBe(true)
})

test("a ratio selects about its part of the traces, also of ids that begin with a time", () => {
  const ids = randomTraceIds()
  const sampler = samplerOf({ name: "traceidratio", ratio: 0.25 })
  const ofTime = () => `01a1ecafa6dc70008000${ids.traceId().slice(0, 12)}`
  for (const make of [() => ids.traceId(), ofTime]) {
    const taken = Array.from({ length: 8_000 }, make).filter((id) => sampler(undefined, id)).length
    // Twenty standard deviations.
    expect(Math.abs(taken - 2_000)).toBeLessThan(800)
  }
})

test("the decision about a trace is always the same", () => {
  const ids = randomTraceIds()
  const make = () => samplerOf({ name: "traceidratio", ratio: 0.5 })
  for (let run = 0; run < 100; run++) {
    const id = ids.traceId()
    expect(make()(undefined, id)).toBe(make()(undefined, id))
  }
})

test("a span context survives the way through its text", () => {
  const ids = randomTraceIds()
  for (const isSampled of [true, false]) {
    const context = { traceId: ids.traceId(), spanId: ids.spanId(), isSampled }
    expect(spanContextOf(traceparentText(context))).toEqual(context)
  }
  // Other flags than the sampled one do not count.
  expect(spanContextOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02").isSampled).toBe(false)
  expect(spanContextOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03").isSampled).toBe(true)
})
