// Compares the window with a model of the store. In any order of writes, answers, reads and replies, every timer within
// the horizon is in memory and fires once, and nothing else fires.
import { expect, test } from "bun:test"
import fc from "fast-check"
import type { Home } from "../../../src/engine/window/Entry.ts"
import { Window } from "../../../src/engine/window/Window.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { sampleTimer } from "../../../testkit/timers.ts"
import { heavyLimits, modelLimits, WindowModel } from "../../../testkit/WindowModel.ts"

interface Step {
  readonly op: string
  readonly a: number
  readonly b: number
}

const operations: { readonly [op: string]: (model: WindowModel, step: Step) => void } = {
  put: (model, { a, b }) => model.put(a, b),
  putSoon: (model, { a, b }) => model.put(a, b % 4),
  schedule: (model, { a, b }) => model.schedule(a, b),
  scheduleSoon: (model, { a, b }) => model.schedule(a, b % 4),
  unschedule: (model, { a }) => model.unschedule(a),
  unscheduleLate: (model, { a }) => model.unschedule(a, true),
  scheduleLate: (model, { a, b }) => {
    model.schedule(a, b, true)
    model.writeAll()
  },
  cancel: (model, { a }) => model.cancel(a),
  commit: (model) => model.commit(),
  answer: (model) => model.answer(),
  write: (model) => {
    model.commit()
    model.answer()
  },
  writeAll: (model) => model.writeAll(),
  cancelNow: (model, { a }) => {
    model.cancel(a)
    model.writeAll()
  },
  burst: (model, { a, b }) => {
    for (let key = a; key < a + 7; key++) model.put(key, (b + key) % 9)
    model.writeAll()
  },
  beginAndSee: (model) => {
    model.beginLoad(false)
    model.snapshot()
  },
  pass: (model, { b }) => model.pass(b % 8),
  setBack: (model, { b }) => model.setBack(b % 30),
  readOn: (model) => model.readOn(),
  takeDue: (model, { a }) => model.takeDue(1 + (a % 6)),
  start: (model, { a }) => model.start(a % 4),
  deliver: (model, { a }) => model.finishAttempt(a, undefined),
  retry: (model, { a, b }) => model.finishAttempt(a, b % 12),
  beginLoad: (model) => model.beginLoad(false),
  beginNamespaceLoad: (model) => model.beginLoad(true),
  beginSweep: (model) => model.beginSweep(),
  snapshot: (model) => model.snapshot(),
  finishRead: (model) => model.finishRead(false),
  failRead: (model) => model.finishRead(true),
  load: (model) => {
    model.beginLoad(false)
    model.snapshot()
    model.finishRead(false)
  },
}

const steps = fc.array(
  fc.record({ op: fc.constantFrom(...Object.keys(operations)), a: fc.nat(11), b: fc.nat(40) }),
  { maxLength: 150, size: "max" },
)

/** An offer that waited for a namespace's load readmits the namespace. The other waiting offers must not be lost. */
const readmittedAmidOffers: Array<Step> = [
  { op: "beginAndSee", a: 0, b: 0 },
  { op: "burst", a: 0, b: 14 },
  { op: "finishRead", a: 0, b: 0 },
  { op: "pass", a: 0, b: 29 },
  { op: "put", a: 8, b: 0 },
  { op: "takeDue", a: 1, b: 0 },
  { op: "put", a: 4, b: 9 },
  { op: "write", a: 0, b: 0 },
  { op: "pass", a: 0, b: 38 },
  { op: "put", a: 0, b: 21 },
  { op: "load", a: 0, b: 0 },
  { op: "burst", a: 8, b: 2 },
  { op: "put", a: 1, b: 4 },
  { op: "write", a: 0, b: 0 },
  { op: "beginNamespaceLoad", a: 0, b: 0 },
  { op: "beginAndSee", a: 0, b: 0 },
  { op: "put", a: 7, b: 0 },
  { op: "burst", a: 0, b: 0 },
]

const run = (model: WindowModel, step: Step): void => {
  operations[step.op]?.(model, step)
  model.check()
}

for (const [filledBy, limits] of Object.entries({ count: modelLimits, weight: heavyLimits })) {
  test(`each timer within the horizon is in memory, fires once and in time, and no cancelled one fires; limited by ${filledBy}`, () => {
    let congested = 0
    let fired = 0
    fc.assert(
      fc.property(steps, (sequence) => {
        const model = new WindowModel(limits)
        for (const step of sequence) {
          run(model, step)
          if (model.window.excludedNamespaces.length > 0) congested++
        }
        model.readOn()
        model.runOut()
        fired += model.fired.length
      }),
      { numRuns: runsOf(4_000), examples: [[readmittedAmidOffers]] },
    )
    // The property tests real cases: windows were congested, and timers fired.
    expect(congested).toBeGreaterThan(100)
    expect(fired).toBeGreaterThan(1_000)
  })
}

test("a full window does not begin a load", () => {
  const model = new WindowModel()
  for (let key = 0; key < 20; key++) {
    model.put(key, 2 + (key % 15))
    model.commit()
    model.answer()
  }
  let loads = 0
  for (let read = 0; read < 50; read++) {
    model.beginLoad(false)
    if (!model.isReading) break
    loads++
    model.snapshot()
    model.finishRead(false)
    model.check()
  }
  expect(loads).toBeLessThanOrEqual(modelLimits.timers)
  expect(model.isReading).toBe(false)
})

const windowOf = (limits: {
  readonly timers: number
  readonly bytes: number
  readonly page: number
}): Window => {
  const home: Home = {
    shard: 0,
    epoch: 1,
    get window() {
      return window
    },
    mayStart: () => true,
    readAgain: () => {},
  }
  const window: Window = new Window(
    home,
    { lookAheadMs: 60_000, ...limits },
    { withdraw: () => {}, wake: () => {}, isKnown: () => true },
  )
  return window
}

test("a timer that fired and was settled while a load that saw it runs is not taken from its page", () => {
  const window = windowOf({ timers: 100, bytes: 1 << 20, page: 10 })
  const timer = sampleTimer({ executeAt: 1_000 })
  const load = window.beginLoad(2_000)
  const read = window.beginRead()
  expect(window.rescue(timer, read)).toBe(true)
  window.endRead(read)
  for (const entry of window.takeDue(2_000, 1)) window.start(entry)
  expect(window.entryOf(timer.uuid)?.state).toBe("inFlight")
  window.touch(timer.uuid)
  window.forget(timer.uuid)
  if (load !== undefined) window.finishLoad(load, { timers: [timer], isLast: true })
  expect(window.entryOf(timer.uuid)).toBeUndefined()
})

/** A shard's share of the limits where there are many shards. A page of large timers is larger than the whole share. */
const smallShare = { timers: 781, bytes: 1 << 20, page: 10_000 }
const largeTimer = (executeAt: number) => sampleTimer({ executeAt, payload: new Uint8Array(65_536) })

const put = (window: Window, timers: ReadonlyArray<ReturnType<typeof sampleTimer>>): void => {
  const read = window.beginRead()
  for (const timer of timers) expect(window.rescue(timer, read)).toBe(true)
  window.endRead(read)
}

test("a window that is behind loads into its free room, however small", () => {
  const window = windowOf(smallShare)
  put(
    window,
    Array.from({ length: 12 }, () => largeTimer(60_000)),
  )
  expect(window.beginLoad(10_000)?.limit).toBe(3)
})

test("a window that is not behind waits for room for a large part of a page", () => {
  const window = windowOf(smallShare)
  const first = window.beginLoad(10_000)
  if (first !== undefined) window.finishLoad(first, { timers: [], isLast: true })
  const nearlyThere = window.horizon.fireAt - 20_000
  put(
    window,
    Array.from({ length: 12 }, () => largeTimer(window.horizon.fireAt)),
  )
  expect(window.beginLoad(nearlyThere)).toBeUndefined()
})

test("an overdue window reads its next page only after the due timers of the last one were taken", () => {
  const window = windowOf({ timers: 1_000, bytes: 1 << 20, page: 10 })
  const first = window.beginLoad(20_000)
  const page = Array.from({ length: 10 }, (_, index) => sampleTimer({ executeAt: 1_000 + index }))
  if (first !== undefined) window.finishLoad(first, { timers: page, isLast: false })
  expect(window.beginLoad(20_000)).toBeUndefined()
  window.takeDue(20_000, 9)
  expect(window.beginLoad(20_000)).toBeUndefined()
  window.takeDue(20_000, 1)
  expect(window.beginLoad(20_000)?.exclusiveAfter.fireAt).toBe(1_009)
})

test("an overdue window reads on at once if its due timers belong to many namespaces", () => {
  const window = windowOf({ timers: 1_000, bytes: 1 << 20, page: 10 })
  const first = window.beginLoad(20_000)
  const page = Array.from({ length: 10 }, (_, index) =>
    sampleTimer({ namespace: `new-${index}`, executeAt: 1_000 + index }),
  )
  if (first !== undefined) window.finishLoad(first, { timers: page, isLast: false })
  expect(window.beginLoad(20_000)?.exclusiveAfter.fireAt).toBe(1_009)
})

test("an overdue window reads on if the attempts of a namespace run and few of its timers wait", () => {
  const window = windowOf({ timers: 1_000, bytes: 1 << 20, page: 10 })
  const first = window.beginLoad(20_000)
  const page = Array.from({ length: 10 }, (_, index) => sampleTimer({ executeAt: 1_000 + index }))
  if (first !== undefined) window.finishLoad(first, { timers: page, isLast: false })
  const [entry, ...others] = window.takeDue(20_000, 5)
  for (const other of others) window.start(other)
  expect(window.beginLoad(20_000)).toBeUndefined()
  if (entry !== undefined) window.start(entry)
  expect(window.beginLoad(20_000)?.exclusiveAfter.fireAt).toBe(1_009)
})

test("an overdue window does not wait for the due timers of an excluded namespace, which its pages leave out", () => {
  const window = windowOf({ timers: 1_000, bytes: 1 << 20, page: 10 })
  const timers = Array.from({ length: 20 }, (_, index) => sampleTimer({ executeAt: 1_000 + index }))
  for (const from of [0, 10]) {
    const load = window.beginLoad(20_000)
    const page = timers.slice(from, from + 10)
    if (load !== undefined) window.finishLoad(load, { timers: page, isLast: false })
    window.takeDue(20_000, from === 0 ? 10 : 1)
  }
  expect(window.excludedNamespaces).toEqual(["shop"])
  expect(window.beginLoad(20_000)?.except).toEqual(["shop"])
})

test("a window that has all due timers reads ahead, although some of them were not taken yet", () => {
  const window = windowOf({ timers: 1_000, bytes: 1 << 20, page: 10 })
  const first = window.beginLoad(10_000)
  if (first !== undefined) window.finishLoad(first, { timers: [], isLast: true })
  put(window, [sampleTimer({ executeAt: 11_000 })])
  expect(window.beginLoad(window.horizon.fireAt - 20_000)).toBeDefined()
})

test("a page is never more than a part of the window, so that an empty window reads ahead", () => {
  const window = windowOf(smallShare)
  const first = window.beginLoad(10_000)
  if (first !== undefined) window.finishLoad(first, { timers: [], isLast: true })
  expect(window.beginLoad(window.horizon.fireAt - 20_000)?.limit).toBe(195)
})

test("long headers of timers take room like payloads", () => {
  const window = windowOf(smallShare)
  const { spec } = sampleTimer()
  const target = { ...spec.target, headers: { "x-long": "x".repeat(32_768) } }
  put(
    window,
    Array.from({ length: 12 }, () => sampleTimer({ executeAt: 60_000, spec: { ...spec, target } })),
  )
  expect(window.beginLoad(10_000)?.limit).toBe(3)
})

test("timers in flight take no room from those to be loaded", () => {
  const window = windowOf(smallShare)
  put(
    window,
    Array.from({ length: 20 }, () => largeTimer(1_000)),
  )
  for (const entry of window.takeDue(10_000, 20)) window.start(entry)
  expect(window.bytes).toBeGreaterThan(smallShare.bytes)
  expect(window.beginLoad(10_000)?.limit).toBeGreaterThanOrEqual(1)
})
