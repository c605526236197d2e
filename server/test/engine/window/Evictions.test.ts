// Which timers a full window evicts, and for which others.
import { describe, expect, test } from "bun:test"
import { WindowRig } from "../../../testkit/WindowRig.ts"

describe("a due timer of an excluded namespace", () => {
  test("does not put the others behind once the namespace has its reserved room", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load([])
    const soon = rig.hold(rig.timers("small", 30, 3_000))
    rig.hold(rig.timers("large", 10, -1))
    rig.takeDue()
    expect(rig.beginNamespaceLoad()).toBeUndefined()
    expect(rig.has(soon)).toBe(30)
  })

  test("evicts timers that are due soon while the namespace has less than that", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load([])
    const soon = rig.hold(rig.timers("small", 35, 3_000))
    rig.hold(rig.timers("large", 5, -1))
    rig.takeDue()
    expect(rig.beginNamespaceLoad()?.limit).toBe(5)
    // An eighth of the window at a time.
    expect(rig.has(soon)).toBe(30)
  })

  test("evicts timers that are due later in any case", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load([])
    const later = rig.hold(rig.timers("small", 30, 30_000))
    rig.hold(rig.timers("large", 10, -1))
    rig.takeDue()
    expect(rig.beginNamespaceLoad()?.limit).toBe(5)
    expect(rig.has(later)).toBe(25)
  })
})

test("a page that is larger than its room evicts its own last timers, and no others", () => {
  const payload = new Uint8Array(10_000)
  const rig = new WindowRig({ bytes: 200_000, timers: 1_000 })
  rig.exclude("large")
  rig.load([])
  const later = rig.hold(rig.timers("small", 10, 30_000, { payload }))
  const load = rig.beginNamespaceLoad()
  const page = rig.timers("large", load?.limit ?? 0, 500, { payload: new Uint8Array(50_000) })
  expect(page.length).toBeGreaterThan(2)
  if (load !== undefined) rig.window.finishLoad(load, { timers: page, isLast: false })
  expect(rig.has(later)).toBe(10)
  expect(rig.has(page)).toBe(1)
})

test("a timer that is due soon does not evict the reserved part of an excluded namespace", () => {
  const rig = new WindowRig()
  rig.exclude("large")
  for (let page = 1; page <= 3; page++) rig.load(rig.timers("small", 10, page * 300))
  const kept = rig.hold(rig.timers("large", 4, 20_000))
  // The window is behind, and has all of its own part.
  expect(rig.window.isBehind(rig.nowMs)).toBe(true)
  expect(rig.window.beginLoad(rig.nowMs)).toBeUndefined()
  expect(rig.has(kept)).toBe(4)
})
