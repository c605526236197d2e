// A tenant whose messages the handler postpones must not hold up other tenants, nor its own other messages.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { MessagePostponed } from "../src/Bus.ts"
import { WaitingTenants } from "../src/WaitingTenants.ts"
import { type Handle, sampleMessage } from "../testkit/BusFixture.ts"
import { type IntakeRig, intakeTest, ToldDelivery } from "../testkit/IntakeRig.ts"

describe("a postponed message", () => {
  let free = 0
  /** The handler has `free` places for the tenant "full". Keys that begin with "cancel" need no place. */
  const handle: Handle = ({ envelope: { tenantId, aggregateId } }) =>
    Effect.suspend(() => {
      if (tenantId !== "full" || aggregateId.startsWith("cancel")) return Effect.void
      if (free > 0) {
        free--
        return Effect.void
      }
      return Effect.fail(new MessagePostponed({ message: "the quota is used up", retryAfterMs: 1_000 }))
    })
  const taking = ({ intake }: Pick<IntakeRig, "intake">, tenant: string, key: string) => {
    const told = new ToldDelivery(sampleMessage({ tenant, key }))
    intake.take(told)
    return told
  }
  const answersOf = (told: ReadonlyArray<ToldDelivery>) => told.flatMap(({ answers }) => answers)

  intakeTest(
    "holds up neither other tenants nor the other messages of its key and its tenant",
    { handle, heldAtMost: 8 },
    (rig) =>
      Effect.gen(function* () {
        free = 0
        const waiting = [taking(rig, "full", "a"), taking(rig, "full", "b")]
        yield* rig.advance(0)
        // The postponed messages take no room from others.
        expect(rig.intake.room()).toBe(8)
        const others = ["a", "b", "c"].map((key) => taking(rig, "other", key))
        const cancels = [taking(rig, "full", "cancel-a"), taking(rig, "full", "cancel-b")]
        yield* rig.advance(0)
        expect(answersOf([...others, ...cancels])).toEqual(Array.from({ length: 5 }, () => "acknowledged"))
        expect(answersOf(waiting)).toEqual([])
        // Much longer than the deliveries of a message last.
        yield* rig.advance(300_000)
        expect(answersOf(waiting)).toEqual([])
        expect(waiting.every(({ keptWaiting }) => keptWaiting > 0)).toBe(true)
        free = 2
        yield* rig.advance(1_000)
        expect(answersOf(waiting)).toEqual(["acknowledged", "acknowledged"])
        expect(new Set(rig.listener.deliveries)).toEqual(new Set([1]))
      }),
  )

  intakeTest(
    "asks alone for its tenant, and the others follow as far as there is room",
    { handle, heldAtMost: 400 },
    (rig) =>
      Effect.gen(function* () {
        free = 0
        const waiting = Array.from({ length: 50 }, (_, index) => taking(rig, "full", `k-${index}`))
        yield* rig.advance(0)
        expect(rig.listener.asked).toHaveLength(50)
        for (let pause = 0; pause < 5; pause++) yield* rig.advance(1_000)
        expect(rig.listener.asked).toHaveLength(55)
        free = 20
        yield* rig.advance(1_000)
        for (let turn = 0; turn < 10; turn++) yield* rig.advance(0)
        expect(answersOf(waiting)).toHaveLength(20)
        expect(waiting.slice(0, 20).every(({ answers }) => answers.length === 1)).toBe(true)
        free = 100
        yield* rig.advance(1_000)
        for (let turn = 0; turn < 10; turn++) yield* rig.advance(0)
        expect(answersOf(waiting)).toHaveLength(50)
      }),
  )

  intakeTest(
    "beyond the bound of its tenant counts as failed, and other tenants still have room to wait",
    { handle, heldAtMost: 8 },
    (rig) =>
      Effect.gen(function* () {
        free = 0
        const told = ["a", "b", "c"].map((key) => taking(rig, "full", key))
        yield* rig.advance(0)
        expect(told.map(({ answers }) => answers)).toEqual([[], [], ["again in 1000 ms"]])
      }),
  )

  intakeTest("goes back to the broker when the intake closes", { handle }, (rig) =>
    Effect.gen(function* () {
      free = 0
      const told = [taking(rig, "full", "a"), taking(rig, "full", "b")]
      yield* rig.advance(0)
      yield* rig.intake.close
      expect(answersOf(told)).toEqual(["again in 0 ms", "again in 0 ms"])
    }),
  )
})

test("waiting messages are bounded in number and bytes, for each tenant and in all", () => {
  const waiting = new WaitingTenants<string>({
    messages: 3,
    messagesPerTenant: 2,
    bytes: 100,
    bytesPerTenant: 60,
  })
  expect(waiting.reserve("a", "a1", 50)).toBe(true)
  expect(waiting.reserve("a", "a2", 20)).toBe(false)
  expect(waiting.reserve("a", "a3", 10)).toBe(true)
  expect(waiting.reserve("a", "a4", 0)).toBe(false)
  expect(waiting.reserve("b", "b1", 60)).toBe(false)
  expect(waiting.reserve("b", "b2", 40)).toBe(true)
  expect(waiting.reserve("c", "c1", 0)).toBe(false)
  expect([waiting.messages, waiting.bytes]).toEqual([3, 100])
  for (const [tenant, item] of [
    ["a", "a1"],
    ["a", "a3"],
    ["b", "b2"],
  ] as const)
    waiting.finish(tenant, item)
  expect([waiting.messages, waiting.bytes]).toEqual([0, 0])
})
