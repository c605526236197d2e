import { expect, test } from "bun:test"
import { activitySpan, GetActivity } from "../src/TimerActivity.ts"
import { refusalsOf } from "./refusals.ts"

const hourMs = 3_600_000

test("a question whose steps leave the years of an instant is refused", () => {
  const latest = { from: "9999-12-31T20:00:00Z", until: "9999-12-31T23:59:59.999Z", step: "1h" }
  expect(refusalsOf(GetActivity, latest)).toEqual([
    "/until must be in the year 9999 or earlier, in whole steps",
  ])
  expect(refusalsOf(GetActivity, { ...latest, until: "9999-12-31T23:00:00Z" })).toEqual([])
  const earliest = { from: "0000-01-01T00:00:00Z", until: "0000-01-05T00:00:00Z", step: "31d" }
  expect(refusalsOf(GetActivity, earliest)).toEqual([
    "/from must be in the year 0000 or later, in whole steps",
  ])
  expect(refusalsOf(GetActivity, { ...earliest, step: "1h" })).toEqual([])
})

test("a span begins and ends with whole steps, also before 1970", () => {
  for (const base of [0, -1_000 * hourMs]) {
    expect(activitySpan({ from: base + 1, until: base + hourMs + 1, step: hourMs })).toEqual({
      fromMs: base,
      untilMs: base + 2 * hourMs,
    })
  }
})
