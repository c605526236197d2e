// The window's promise against a model of the store: whatever the order of writes, answers, reads and
// replies, what lies within the horizon is in memory, fires once, and nothing else does.
import { expect, test } from "bun:test"
import fc from "fast-check"
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
