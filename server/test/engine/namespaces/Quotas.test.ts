import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { PendingEstimate } from "../../../src/engine/namespaces/PendingEstimate.ts"
import { Quotas } from "../../../src/engine/namespaces/Quotas.ts"
import { sampleTimer } from "../../../testkit/timers.ts"

describe("a full namespace", () => {
  test("keeps the place of a timer that an unanswered create may arm again", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const directory = {
          of: () => ({ settings: { maxPending: 1 }, isPaused: false, pauses: [], secrets: [] }),
          onChange: () => {},
        }
        let pending = 1
        const quotas = new Quotas({
          directory,
          store: {
            count: () => Effect.sync(() => ({ count: pending, capped: false })),
            find: ({ timerId }) =>
              Effect.sync(() => ({
                pending: timerId === "here" ? sampleTimer({ timerId }) : undefined,
                last: undefined,
              })),
          },
          clock: yield* Clock.clockWith(Effect.succeed),
          nodes: () => 1,
        })
        const admit = (timerId: string) =>
          Effect.map(quotas.admit([{ namespace: "shop", timerId }]), ([admission]) => admission)
        const again = yield* admit("here")
        if (!(again instanceof PendingEstimate)) throw new Error("a replacement was refused")
        // The timer is delivered before the create is written, and a count sees that.
        pending = 0
        yield* TestClock.adjust(1_000)
        expect(yield* admit("other")).toMatchObject({ quota: "maxPending" })
        again.noteAnswer(false)
        expect(yield* admit("other")).toBe(again)
      }).pipe(Effect.provide(TestClock.layer())),
    ))
})
