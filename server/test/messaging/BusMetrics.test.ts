import { expect, test } from "bun:test"
import { Effect } from "effect"
import { BusMetrics } from "../../src/messaging/BusMetrics.ts"
import { WallClock } from "../../src/ports/WallClock.ts"

test("the text stays small, no matter how many tenants and unknown types there are, and no count is lost", () =>
  Effect.gen(function* () {
    const metrics = yield* BusMetrics.make
    const tenants = 100_000
    for (let index = 0; index < tenants; index++)
      metrics.count({ event: "received", tenant: `tenant-${index}` })
    const wall = yield* WallClock
    const sample = Effect.succeed({ isConnected: true, lag: 0 })
    const text = yield* metrics.text(sample, Effect.undefined, wall)
    const values = [...text.matchAll(/^timer_bus_received_total\{tenant="[^"]*"\} (\d+)$/gm)].map(
      ([, value]) => Number(value),
    )
    expect(values.length).toBeLessThanOrEqual(51)
    expect(values.reduce((sum, value) => sum + value, 0)).toBe(tenants)
    expect(text.length).toBeLessThan(10_000)
  }).pipe(Effect.provide(WallClock.system), Effect.runPromise))
