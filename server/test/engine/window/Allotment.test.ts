// How much of a window's room each namespace may have.
import { describe, expect, test } from "bun:test"
import { WindowRig } from "../../../testkit/WindowRig.ts"

test("while a namespace is excluded a quarter is reserved for it", () => {
  const rig = new WindowRig()
  rig.load(rig.timers("small", 10, 300))
  rig.hold(rig.timers("small", 18, 400))
  expect(rig.window.beginLoad(rig.nowMs)?.limit).toBe(10)

  const kept = new WindowRig()
  kept.exclude("large")
  kept.load(kept.timers("small", 10, 300))
  kept.hold(kept.timers("small", 18, 400))
  expect(kept.window.beginLoad(kept.nowMs)?.limit).toBe(2)
})

test("a timer that was evicted for its size is read when the window is empty, even if it is larger than the window", () => {
  const rig = new WindowRig({ bytes: 20_000 })
  const light = rig.timers("small", 1, 100)
  const heavy = rig.timers("small", 1, 200, { payload: new Uint8Array(40_000) })
  rig.load([...light, ...heavy])
  expect([rig.has(light), rig.has(heavy)]).toEqual([1, 0])
  expect(rig.window.beginLoad(rig.nowMs)).toBeUndefined()
  rig.forget(light)
  rig.load(heavy)
  expect(rig.has(heavy)).toBe(1)
})

describe("an excluded namespace", () => {
  test("is read again when half of its share is free, not before", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load([])
    const ready = rig.hold(rig.timers("large", 11, -1))
    rig.takeDue()
    expect(rig.beginNamespaceLoad()).toBeUndefined()
    rig.forget(ready.slice(0, 1))
    expect(rig.beginNamespaceLoad()?.limit).toBe(10)
  })

  test("gets its reserved room while the others are behind, and no more", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load(rig.timers("small", 10, 500))
    rig.hold(rig.timers("large", 5, -1))
    rig.takeDue()
    expect(rig.window.isBehind(rig.nowMs)).toBe(true)
    expect(rig.beginNamespaceLoad()?.limit).toBe(5)
  })

  test("gets one timer if it has none while due timers of the others may be missing", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load(rig.timers("small", 10, -500))
    rig.takeDue()
    expect(rig.beginNamespaceLoad()?.limit).toBe(1)
  })

  test("gets no later timers while the others are behind", () => {
    const rig = new WindowRig()
    const underWay = rig.exclude("large")
    rig.load(rig.timers("small", 10, 1_000))
    const load = rig.beginNamespaceLoad()
    const page = rig.timers("large", load?.limit ?? 0, 500)
    if (load !== undefined) rig.window.finishLoad(load, { timers: page, isLast: false })
    rig.forget([...underWay, ...page.slice(5)])
    expect(rig.window.horizonFor("large").fireAt).toBe(rig.nowMs + 500)
    expect(rig.beginNamespaceLoad()).toBeUndefined()
    // Once they are not behind, it gets some.
    rig.load([])
    expect(rig.beginNamespaceLoad()?.limit).toBe(10)
  })

  test("gets nothing while the others are behind and due timers in the window were not taken", () => {
    const rig = new WindowRig()
    rig.exclude("large")
    rig.load(rig.timers("small", 10, 500))
    rig.hold(rig.timers("small", 1, -1))
    expect(rig.beginNamespaceLoad()).toBeUndefined()
    rig.takeDue()
    expect(rig.beginNamespaceLoad()?.limit).toBe(10)
  })
})
