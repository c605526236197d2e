// The order within a key holds for any messages, with any duration and any answer of their handlers.
import { describe, expect, test } from "bun:test"
import { runsOf } from "@punctual/server/testkit/effort"
import { Effect } from "effect"
import fc from "fast-check"
import { HandlerUnavailable, MessageFailed, MessageRefused } from "../src/Bus.ts"
import { type Handle, sampleMessage } from "../testkit/BusFixture.ts"
import { runIntake, ToldDelivery } from "../testkit/IntakeRig.ts"

describe("lanes", () => {
  const plans = fc.array(
    fc.record({
      key: fc.constantFrom("a", "b", "c", "d", "e"),
      takesMs: fc.nat(3),
      /** How many calls answer "unavailable" before the last one. */
      unavailable: fc.nat(2),
      ends: fc.constantFrom("done" as const, "failed" as const, "refused" as const),
      takenAfterMs: fc.constantFrom(0, 0, 0, 1, 150),
    }),
    { minLength: 1, maxLength: 60 },
  )

  test("one of a key at a time, in the order taken, within the bound, each answered once", async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.integer({ min: 1, max: 4 }), async (planned, handlersAtMost) => {
        const messages = planned.map((plan) => ({ plan, message: sampleMessage({ key: plan.key }) }))
        const told = messages.map(({ message }) => new ToldDelivery(message))
        const planOf = new Map(messages.map(({ plan, message }) => [String(message.id), { ...plan }]))
        const atWork = new Set<string>()
        const got: Array<string> = []
        const broken: Array<string> = []
        const handle: Handle = ({ envelope: { id, aggregateId } }) =>
          Effect.gen(function* () {
            if (atWork.has(aggregateId)) broken.push(`two of ${aggregateId} at once`)
            atWork.add(aggregateId)
            if (atWork.size > handlersAtMost) broken.push(`${atWork.size} handlers at once`)
            const plan = planOf.get(id)
            if (plan === undefined) throw new Error("a message that nobody sent")
            if (plan.takesMs > 0) yield* Effect.sleep(plan.takesMs)
            atWork.delete(aggregateId)
            if (plan.unavailable-- > 0)
              return yield* new HandlerUnavailable({ message: "not now", retryAfterMs: 1 })
            got.push(id)
            if (plan.ends === "failed") return yield* new MessageFailed({ message: "not yet" })
            if (plan.ends === "refused") return yield* new MessageRefused({ message: "no" })
          })
        await runIntake({ handle, handlersAtMost }, ({ intake, advance }) =>
          Effect.gen(function* () {
            for (const [index, one] of told.entries()) {
              const { takenAfterMs = 0 } = planned[index] ?? {}
              if (takenAfterMs > 0) yield* advance(takenAfterMs)
              intake.take(one)
            }
            for (let pass = 0; pass < 200 && intake.room() < 1_000; pass++) yield* advance(100)
          }),
        )
        expect(broken).toEqual([])
        const answerTo = { done: "acknowledged", refused: "acknowledged", failed: "again in 1000 ms" }
        expect(told.map(({ answers }) => answers)).toEqual(planned.map(({ ends }) => [answerTo[ends]]))
        for (const key of ["a", "b", "c", "d", "e"]) {
          const sent = messages
            .filter(({ plan }) => plan.key === key)
            .map(({ message }): string => message.id)
          expect(got.filter((id) => sent.includes(id))).toEqual(sent)
        }
      }),
      { numRuns: runsOf(60) },
    )
  })
})
