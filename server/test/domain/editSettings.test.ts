import { describe, expect, test } from "bun:test"
import { editSettings, pauseService, resumeService } from "../../src/domain/editSettings.ts"
import type { NamespaceSettings } from "../../src/domain/NamespaceSettings.ts"

const settings: NamespaceSettings = { maxPending: 5, createsPerSecond: 9 }

describe("edited settings", () => {
  test("keep omitted fields, take given ones, and lose those that are null", () => {
    expect(editSettings(settings, { maxPending: null, maxInFlight: 3 }, 1)).toEqual({
      createsPerSecond: 9,
      maxInFlight: 3,
    })
    expect(editSettings(settings, { maxPending: 0 }, 1)).toEqual({ ...settings, maxPending: 0 })
  })

  test("are the same object if there is nothing to change", () => {
    expect(editSettings(settings, {}, 1)).toBe(settings)
    expect(editSettings(settings, { paused: false }, 1)).toBe(settings)
    const paused = editSettings(settings, { paused: true }, 1)
    expect(editSettings(paused, { paused: true }, 2)).toBe(paused)
  })

  test("remember a pause from its beginning to its end, however often it is asked for", () => {
    const paused = editSettings(settings, { paused: true }, 10)
    expect(paused).toEqual({ ...settings, pausedSinceMs: 10 })
    const still = editSettings(paused, { paused: true, maxPending: 6 }, 15)
    expect(still.pausedSinceMs).toBe(10)
    for (const end of [false, null]) {
      expect(editSettings(paused, { paused: end }, 20)).toEqual({
        ...settings,
        pastPauses: [{ fromMs: 10, untilMs: 20 }],
      })
    }
  })

  test("keep the reason of a pause until another is given or the pause ends", () => {
    const paused = editSettings(settings, { paused: true, pauseReason: "a move" }, 10)
    expect(paused).toEqual({ ...settings, pausedSinceMs: 10, pauseReason: "a move" })
    expect(editSettings(paused, { paused: true }, 15)).toBe(paused)
    expect(editSettings(paused, { paused: true, pauseReason: "it waits" }, 15)).toEqual({
      ...settings,
      pausedSinceMs: 10,
      pauseReason: "it waits",
    })
    expect(editSettings(paused, { paused: false }, 20)).not.toHaveProperty("pauseReason")
  })

  test("remember the latest pauses, up to a limit", () => {
    let edited = settings
    for (let at = 0; at < 100; at += 2) {
      edited = editSettings(edited, { paused: true }, at)
      edited = editSettings(edited, { paused: false }, at + 1)
    }
    expect(edited.pastPauses).toHaveLength(20)
    expect(edited.pastPauses?.at(-1)).toEqual({ fromMs: 98, untilMs: 99 })
  })
})

describe("the service's pause", () => {
  test("begins once, and its reason may change", () => {
    const paused = pauseService({}, undefined, 10)
    expect(paused).toEqual({ pause: { sinceMs: 10, kind: "asked" } })
    expect(pauseService(paused, undefined, 20)).toBe(paused)
    const explained = pauseService(paused, "moving", 20)
    expect(explained).toEqual({ pause: { sinceMs: 10, kind: "asked", reason: "moving" } })
    expect(pauseService(explained, "moving", 30)).toBe(explained)
  })

  test("after a restore stays a pause of a restore", () => {
    const restored = { pause: { sinceMs: 10, kind: "restored", reason: "disk" } } as const
    expect(pauseService(restored, "moving", 20).pause).toEqual({
      sinceMs: 10,
      kind: "restored",
      reason: "moving",
    })
  })

  test("becomes a past pause when it ends, and nothing ends where there is none", () => {
    const paused = pauseService({ pastPauses: [{ fromMs: 1, untilMs: 2 }] }, undefined, 10)
    expect(resumeService(paused, 20)).toEqual({
      pastPauses: [
        { fromMs: 1, untilMs: 2 },
        { fromMs: 10, untilMs: 20 },
      ],
    })
    const running = {}
    expect(resumeService(running, 20)).toBe(running)
  })
})
