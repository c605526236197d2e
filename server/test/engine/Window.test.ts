// The window's promise against a model of the store: whatever the order of writes, answers, reads and
// replies, what lies within the horizon is in memory, fires once, and nothing else does.
import { expect, test } from "bun:test"
import fc from "fast-check"
import type { Home } from "../../src/engine/Entry.ts"
import { Window } from "../../src/engine/Window.ts"
import { sampleTimer } from "../../testkit/timers.ts"
import { modelLimits, WindowModel } from "../../testkit/WindowModel.ts"

interface Step {
  readonly op: string
  readonly a: number
  readonly b: number
}

const operations: { readonly [op: string]: (model: WindowModel, step: Step) => void } = {
  put: (model, { a, b }) => model.put(a, b),
  putSoon: (model, { a, b }) => model.put(a, b % 4),
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

/** A namespace is readmitted by one of the offers that waited for its load; the others must not be lost. */
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

test("what lies within the horizon is in memory, fires once and in time, and nothing cancelled does", () => {
  let congested = 0
  let fired = 0
  fc.assert(
    fc.property(steps, (sequence) => {
      const model = new WindowModel()
      for (const step of sequence) {
        run(model, step)
        if (model.window.excludedNamespaces.length > 0) congested++
      }
      model.runOut()
      fired += model.fired.length
    }),
    { numRuns: 4_000, examples: [[readmittedAmidOffers]] },
  )
  // The property is about something: windows were congested, and timers fired.
  expect(congested).toBeGreaterThan(100)
  expect(fired).toBeGreaterThan(1_000)
}, 30_000)

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
    { withdraw: () => {}, wake: () => {} },
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
  if (load !== undefined) window.finishLoad(load, [timer])
  expect(window.entryOf(timer.uuid)).toBeUndefined()
})

test("a window that is behind and not full loads, however small its share of the bounds is", () => {
  for (const timers of [1, 4, 39, 781]) {
    for (const payloadBytes of [0, 65_536]) {
      for (const page of [1, 500, 10_000]) {
        const window = windowOf({ timers, bytes: 1 << 20, page })
        const fired: Array<string> = []
        // Whatever is in flight hangs, and must not keep the next from being loaded.
        for (let round = 0; round < 5; round++) {
          const load = window.beginLoad(10_000)
          expect(load?.limit).toBeGreaterThanOrEqual(1)
          if (load === undefined) break
          window.finishLoad(load, [
            sampleTimer({ executeAt: 1_000 + round, payload: new Uint8Array(payloadBytes) }),
          ])
          // The page was short, so this is all up to its end: more comes only from further on.
          for (const entry of window.takeDue(10_000, 10)) {
            fired.push(entry.uuid)
            window.start(entry)
          }
          if (window.horizon.fireAt >= 10_000) break
        }
        expect(fired.length).toBeGreaterThanOrEqual(1)
      }
    }
  }
})
