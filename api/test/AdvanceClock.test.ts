import { describe, expect, test } from "bun:test"
import { AdvanceClock, AdvanceClockAnswer } from "../src/AdvanceClock.ts"
import { decoded, refusalsOf } from "./refusals.ts"

describe("an advance", () => {
  test("takes a duration or an instant, never both and never none", () => {
    const by: unknown = decoded(AdvanceClock, { by: "31d", maxFirings: 5 })
    expect(by).toEqual({ by: 31 * 86_400_000, maxFirings: 5 })
    const to: unknown = decoded(AdvanceClock, { to: "2030-01-01T09:00:00Z" })
    expect(to).toEqual({ to: 1_893_488_400_000 })
    expect(refusalsOf(AdvanceClock, { by: "0s" })).toEqual([])
    expect(refusalsOf(AdvanceClock, {})).toEqual(["/by is required: give exactly one of by and to"])
    expect(refusalsOf(AdvanceClock, { by: "1s", to: "2030-01-01T09:00:00Z" })).toEqual([
      "/to cannot be given together with by: remove one of them",
    ])
  })

  test("says what is wrong with a time, and with maxFirings", () => {
    expect(refusalsOf(AdvanceClock, { by: "-1s" })).toEqual([
      expect.stringContaining("/by must be a duration"),
    ])
    expect(refusalsOf(AdvanceClock, { to: "tomorrow" })).toEqual([
      expect.stringContaining("/to must be an instant"),
    ])
    for (const maxFirings of [0, 1_000_001, 1.5, "5"])
      expect(refusalsOf(AdvanceClock, { by: "1s", maxFirings })).toEqual([
        "/maxFirings must be a whole number from 1 to 1000000",
      ])
  })

  test("is answered with the time, and with more only if there is more", () => {
    const now = "2030-01-01T09:00:00.000Z"
    const answer: unknown = decoded(AdvanceClockAnswer, { now, fired: 3, more: true })
    expect(answer).toEqual({ now: 1_893_488_400_000, fired: 3, more: true })
    expect(refusalsOf(AdvanceClockAnswer, { now, fired: 0 })).toEqual([])
    expect(refusalsOf(AdvanceClockAnswer, { now, fired: 0, more: false })).toHaveLength(1)
  })
})
