// What a replay and a discard do, as laws over every state of a key.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Known } from "../../src/domain/Decision.ts"
import { decideDiscard, decideReplay } from "../../src/domain/decideDead.ts"
import { endOfLife } from "../../src/domain/endOfLife.ts"
import type { FinishedLife } from "../../src/domain/Timer.ts"
import { discardOf, replayOf, sampleNow, sampleTimer } from "../../testkit/timers.ts"

const timerId = "k"
const deadLife = (given: Parameters<typeof sampleTimer>[0] = {}): FinishedLife => ({
  ...endOfLife(
    sampleTimer({ timerId, payload: new Uint8Array([1]), attempts: 3, ...given }),
    "dead",
    sampleNow + 9,
  ),
  attemptLog: [{ at: 1, durationMs: 1 }],
  reason: "refused",
})
const nothing: Known = { pending: undefined, last: undefined }
const isRepeat = true

describe("a replay", () => {
  test("arms the dead timer for its own instant, above every earlier revision", () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(2_000), fc.nat(2_000), (died, ended, asked) => {
        const dead = deadLife({ createdAt: sampleNow + died })
        const last = { ...deadLife(), revision: sampleNow + Math.max(died, ended) }
        const replay = replayOf(dead, { at: sampleNow + asked })
        const { answer, pending, removesDead, tally } = decideReplay(
          replay,
          { pending: undefined, last },
          dead,
        )
        expect(answer).toEqual({ result: "replayed", timer: pending } as never)
        expect(pending).toMatchObject({
          fireId: replay.fireId,
          executeAt: replay.at,
          fireAt: replay.at,
          updatedAt: replay.at,
          attempts: 0,
          createdAt: dead.createdAt,
          payload: dead.payload,
          spec: dead.spec,
          correlationId: dead.correlationId,
        })
        expect(pending).not.toHaveProperty("attemptLog")
        expect(pending?.revision).toBeGreaterThan(Math.max(dead.revision, last.revision))
        expect(pending?.revision).toBeGreaterThanOrEqual(replay.at)
        expect(removesDead).toBe(dead)
        expect(tally).toEqual({ replayed: 1 })
      }),
    )
  })

  test("does not change a key that is pending", () => {
    const dead = deadLife()
    const known = { pending: sampleTimer({ timerId }), last: dead }
    for (const replay of [replayOf(dead), replayOf(dead, { isRepeat })])
      expect(decideReplay(replay, known, dead)).toEqual({ answer: { result: "skipped" } })
  })

  test("that is repeated is recognised by the timer that it armed, and arms nothing", () => {
    const dead = deadLife()
    for (const replay of [replayOf(dead), replayOf(dead, { isRepeat })]) {
      const { pending } = decideReplay(replay, { pending: undefined, last: dead }, dead)
      if (!pending) throw new Error("it armed nothing")
      expect(decideReplay(replay, { pending, last: undefined }, undefined)).toEqual({
        answer: { result: "replayed", timer: pending },
      })
      for (const state of ["delivered", "cancelled", "dead"] as const) {
        const last = endOfLife(pending, state, sampleNow)
        expect(decideReplay(replay, { pending: undefined, last }, undefined)).toEqual({
          answer: { result: "alreadyReplayed" },
        })
      }
    }
  })

  test("of a missing dead letter finds nothing; marked, it is certain of that only if nothing else is stored", () => {
    const dead = deadLife()
    const others: ReadonlyArray<Known> = [
      { pending: sampleTimer({ timerId }), last: undefined },
      { pending: undefined, last: deadLife() },
    ]
    for (const known of [nothing, ...others])
      expect(decideReplay(replayOf(dead), known, undefined)).toEqual({ answer: { result: "notFound" } })
    expect(decideReplay(replayOf(dead, { isRepeat }), nothing, undefined).answer.result).toBe("notFound")
    for (const known of others)
      expect(decideReplay(replayOf(dead, { isRepeat }), known, undefined)).toEqual({
        answer: { result: "unknown" },
      })
  })
})

describe("a discard", () => {
  test("removes the dead letter and moves it in the tally", () => {
    const dead = deadLife()
    for (const discard of [discardOf(dead), discardOf(dead, { isRepeat })])
      expect(decideDiscard(discard, dead)).toEqual({
        answer: { result: "discarded" },
        removesDead: dead,
        tally: { dead: -1, discarded: 1 },
      })
  })

  test("of a missing dead letter finds nothing; marked, it cannot know who removed it", () => {
    const dead = deadLife()
    expect(decideDiscard(discardOf(dead), undefined)).toEqual({ answer: { result: "notFound" } })
    expect(decideDiscard(discardOf(dead, { isRepeat }), undefined)).toEqual({ answer: { result: "unknown" } })
  })
})
