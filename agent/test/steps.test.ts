// The agent stops at each named step and starts again in the same folder. Whatever was half done is finished, and the
// promises hold. A stopped step never goes on: the rest of the process is closed around it.
import { expect, test } from "bun:test"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Latch } from "effect"
import type { NewServiceCall, ServiceCalls } from "../src/calls/ServiceCalls.ts"
import { finalStates, type ServiceCall } from "../src/domain/ServiceCall.ts"
import { type StepHook, type StepName, stepNames } from "../src/ports/Steps.ts"
import { inRig, untilCall } from "../testkit/AgentRig.ts"
import { brokenPromises, type SubmittedCall } from "../testkit/CallChecker.ts"
import { startTarget } from "../testkit/startTarget.ts"

const tenantId = "acme"
const isOver = ({ state }: ServiceCall): boolean => finalStates.has(state)

/** Every call that reaches the step stops there. */
const stoppingAt = (stopped: StepName): StepHook & { readonly reachedOnce: Latch.Latch } => {
  const reachedOnce = Latch.makeUnsafe(false)
  return {
    reachedOnce,
    reached: (step) => {
      if (step !== stopped) return Effect.void
      reachedOnce.openUnsafe()
      return Effect.never
    },
  }
}

const submitAll = (calls: ServiceCalls["Service"], asked: ReadonlyArray<NewServiceCall>) =>
  Effect.forEach(asked, (one) => calls.submit(one), { concurrency: "unbounded", discard: true })

for (const step of stepNames) {
  test(`nothing is lost or called twice if the agent ends at ${step}`, async () => {
    using folder = new TemporaryFolder()
    await using target = startTarget()
    const submitted = ["one", "two"].map((serviceCallId): SubmittedCall => ({ tenantId, serviceCallId }))
    const asked = submitted.map(
      (key): NewServiceCall => ({
        ...key,
        name: "now",
        tags: [],
        request: { method: "POST", url: target.url, body: JSON.stringify(key) },
      }),
    )
    const steps = stoppingAt(step)
    await inRig({ folder: folder.path, steps }, (calls) =>
      Effect.raceFirst(
        steps.reachedOnce.await,
        Effect.andThen(Effect.ignore(submitAll(calls, asked)), Effect.never),
      ),
    )
    // Without the sweep, which would hide that a message was lost.
    await inRig({ folder: folder.path, sweepEveryMs: 3_600_000 }, (calls) =>
      Effect.gen(function* () {
        // A user who got no answer submits again.
        yield* submitAll(calls, asked)
        yield* Effect.forEach(submitted, (key) => untilCall(calls, key, isOver))
        const ended = yield* Effect.forEach(submitted, ({ serviceCallId }) =>
          calls.get(tenantId, serviceCallId),
        )
        const seen = target.seen
        expect(brokenPromises({ submitted, ended: new Map([[tenantId, ended]]), seen })).toEqual([])
        const states = ended.map(({ call }) => call.error?.kind ?? call.state)
        const isUnknowable = step === "execution.calling" || step === "execution.called"
        // The other call may be at any point of its own execution when the agent ends.
        const allowed =
          isUnknowable || step === "execution.ended" ? ["outcomeUnknown", "Succeeded"] : ["Succeeded"]
        expect(states.filter((state) => !allowed.includes(state))).toEqual([])
        if (step === "execution.ended") expect(states).toContain("Succeeded")
        if (isUnknowable) expect(states).toContain("outcomeUnknown")
      }),
    )
  }, 120_000)
}
