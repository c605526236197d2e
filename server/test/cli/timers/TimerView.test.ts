// How a timer is shown to people: what came of its attempts, and times in units that people read.
import { expect, test } from "bun:test"
import type { TimerAnswer } from "@punctual/api/GetTimer"
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { timerPage } from "../../../src/cli/timers/TimerView.ts"

type Timer = TimerAnswer["timer"]

const at = Date.UTC(2030, 0, 1)

const delivered: Timer = {
  namespace: "shop",
  timerId: "a",
  state: "delivered",
  revision: 1,
  fireId: "f",
  executeAt: at,
  attempts: 1,
  lastAttempt: { at, durationMs: 3 },
  target: { type: "event" },
  retryPolicy: defaultRetryPolicy,
  correlationId: "c",
  createdAt: at,
  updatedAt: at,
  finishedAt: at,
}

/** What stands after the name of a fact. */
const fact = (timer: Timer, name: string): string | undefined =>
  timerPage(timer, "{}")
    .split("\n")
    .find((line) => line.startsWith(name))
    ?.slice(15)

test("an attempt without a status and without an error was delivered", () => {
  expect(fact(delivered, "last attempt")).toBe("2030-01-01T00:00:00.000Z  delivered  (3 ms)")
})

test("an attempt that failed shows its error, and its status if the error does not say it", () => {
  const failed = (lastAttempt: NonNullable<Timer["lastAttempt"]>) =>
    fact({ ...delivered, lastAttempt }, "last attempt")?.split("  ")[1]
  expect(failed({ at, durationMs: 3, error: "connection refused" })).toBe("connection refused")
  expect(failed({ at, durationMs: 3, status: 500, error: "answered 500" })).toBe("answered 500")
  expect(failed({ at, durationMs: 3, status: 200, error: "answered ok: false" })).toBe(
    "answered 200: answered ok: false",
  )
})

test("a long lateness is shown in days, and one attempt is no attempts", () => {
  expect(fact({ ...delivered, latenessMs: 217_005_082_408 }, "lateness")).toBe("2,511 d 15 h")
  expect(fact({ ...delivered, latenessMs: 12 }, "lateness")).toBe("12 ms")
  expect(fact({ ...delivered, retryPolicy: { ...defaultRetryPolicy, maxAttempts: 1 } }, "retry")).toStartWith(
    "1 attempt, ",
  )
})
