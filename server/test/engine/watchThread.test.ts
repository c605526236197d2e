// The metric shows how long the thread was held, and stays silent while the thread is free.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { checkEveryMs, watchThread } from "../../src/engine/watchThread.ts"
import { eventually } from "../../testkit/eventually.ts"

const stallsShown = async (nowMs: () => number, untilChecks: number) => {
  let checks = 0
  return Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        yield* watchThread(() => {
          checks++
          return nowMs()
        })
        yield* Effect.promise(() =>
          eventually("the thread was checked", () => (checks >= untilChecks ? true : undefined)),
        )
        return yield* PrometheusMetrics.format()
      }),
    ),
  )
}

const valueIn = (text: string, name: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1) ?? "0",
  )

test("a thread that was held is counted with the time, and a free thread is not", async () => {
  let freeMs = 0
  const free = await stallsShown(() => (freeMs += checkEveryMs), 5)
  expect(valueIn(free, "timer_thread_stall_seconds_count")).toBe(0)

  const times = [0, checkEveryMs, 2 * checkEveryMs + 400]
  const held = await stallsShown(() => times.shift() ?? 2 * checkEveryMs + 400, 5)
  expect(valueIn(held, "timer_thread_stall_seconds_count")).toBe(1)
  expect(valueIn(held, "timer_thread_stall_seconds_sum")).toBeCloseTo(0.4)
})
