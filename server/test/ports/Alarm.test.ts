// Sleeping until an instant of the system's clock.
import { afterEach, expect, setSystemTime, test } from "bun:test"
import { Effect } from "effect"
import { Alarm, preciseNow, systemAlarm } from "../../src/ports/Alarm.ts"

afterEach(() => {
  setSystemTime()
})

test("a sleep ends at its instant, near or far, and at once if it has passed", async () => {
  for (const inMs of [-5, 0, 0.3, 1, 3.7, 30]) {
    const instant = preciseNow() + inMs
    await Effect.runPromise(systemAlarm.sleepUntil(instant, Date.now()))
    expect(preciseNow()).toBeGreaterThan(instant - 0.1)
  }
})

test("many sleeps run at once, and each ends at its own instant", async () => {
  const from = preciseNow()
  const instants = Array.from({ length: 200 }, (_, index) => from + ((index * 7919) % 200) / 7)
  const wokenAt = await Effect.runPromise(
    Effect.forEach(
      instants,
      (instant) => Effect.map(systemAlarm.sleepUntil(instant, Date.now()), () => preciseNow()),
      { concurrency: "unbounded" },
    ),
  )
  for (const [index, at] of wokenAt.entries()) expect(at).toBeGreaterThan((instants[index] ?? 0) - 0.1)
})

test("fractions of a millisecond belong to the millisecond that the clock shows, also when it is set", () => {
  const isWithin = () => {
    const before = Date.now()
    const now = preciseNow()
    return now >= before && now < Date.now() + 1
  }
  for (let look = 0; look < 10_000; look++) expect(isWithin()).toBe(true)
  for (const setTo of [Date.UTC(2030, 0, 1), Date.UTC(2020, 0, 1)]) {
    setSystemTime(setTo)
    expect(isWithin()).toBe(true)
  }
})

test("without the system's clock it sleeps by Effect's", async () => {
  const alarm = await Effect.runPromise(Alarm)
  await Effect.runPromise(alarm.sleepUntil(Date.now() + 2, Date.now()))
  expect(alarm).not.toBe(systemAlarm)
})
