// A loop that breaks is reported. A loop that is interrupted is not.
import { expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { makeGuard } from "../../src/engine/Guard.ts"

const brokenBy = async (
  end: (guarded: Effect.Effect<never>) => Effect.Effect<unknown>,
  loop: Effect.Effect<never>,
) => {
  const told: Array<string> = []
  const guarded = makeGuard((message) => told.push(message))("firing", loop)
  await Effect.runPromise(Effect.exit(end(guarded)))
  return told
}

test("a defect in a loop is reported, with the loop's name", async () => {
  const told = await brokenBy((guarded) => guarded, Effect.die(new Error("a bug")))
  expect(told).toEqual(["the firing loop broke: Error: a bug"])
})

test("an interrupted loop is not reported", async () => {
  const interrupted = (guarded: Effect.Effect<never>) =>
    Effect.flatMap(Effect.forkChild(guarded, { startImmediately: true }), Fiber.interrupt)
  expect(await brokenBy(interrupted, Effect.never)).toEqual([])
})
