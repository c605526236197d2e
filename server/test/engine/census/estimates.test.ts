// More timers than a call may count, in a cluster of two nodes: every part of an estimate, from the pages of the census to
// the answer.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { shardOf } from "../../../src/domain/TimerKey.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import { type HarnessOptions, runVirtually } from "../../../testkit/EngineHarness.ts"
import { putOf, sampleNow, sampleTimer } from "../../../testkit/timers.ts"

const hour = 3_600_000
const from = Math.floor(sampleNow / hour) * hour
const span = { from, until: from + 24 * hour }
const options: HarnessOptions = {
  shards: 4,
  areLinked: true,
  isEmpty: true,
  census: { leastPending: 100_000 },
}

test(
  "beyond 100,000 timers a histogram is estimated by all owners, and names an owner that cannot be reached",
  () =>
    runVirtually(options, (engine) =>
      Effect.gen(function* () {
        const first = yield* engine.startNode("node-1")
        yield* engine.startNode("node-2")
        yield* engine.advance(1_000)
        const timers = 100_020
        for (let index = 0; index < timers; index++) {
          const timer = sampleTimer({ timerId: `t${index}`, fireAt: from + 5 * hour + index })
          applyTo(engine.database, shardOf(timer.uuid, 4), putOf(timer))
        }
        yield* engine.advance(20_000)
        const asked = {
          namespace: ["*"],
          state: "pending" as const,
          inclusiveFromMs: span.from,
          exclusiveUntilMs: span.until,
          buckets: 6,
        }
        const all = yield* first.scheduler.histogram(asked)
        expect(all).toMatchObject({ isEstimated: true, isCapped: false })
        expect(all.counts).toEqual([0, timers, 0, 0, 0, 0])
        engine.unreachable.add("node-2")
        const some = yield* first.scheduler.histogram(asked)
        expect(some).toMatchObject({ isEstimated: true, isCapped: true, missing: ["node-2"] })
        expect(some.counts[1]).toBeGreaterThan(40_000)
        expect(some.counts[1]).toBeLessThan(60_000)
      }),
    ),
  60_000,
)
