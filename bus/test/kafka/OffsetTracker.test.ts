import { expect, test } from "bun:test"
import { doneInNote, OffsetTracker } from "../../src/kafka/OffsetTracker.ts"

const tracker = (offset = 10, note = "") => new OffsetTracker({ offset, note })

test("the offset stays before the first message that is not done", () => {
  const offsets = tracker()
  for (const offset of [10, 11, 12, 14]) offsets.begin(offset)
  offsets.done(11)
  offsets.done(14)
  expect(offsets.commit().offset).toBe(10)
  offsets.done(10)
  expect(offsets.commit().offset).toBe(12)
  offsets.done(12)
  expect(offsets.commit()).toEqual({ offset: 15, note: "" })
})

test("a tracker that continues from a commit knows what was done behind the offset, and nothing else", () => {
  const before = tracker()
  for (let offset = 10; offset < 40; offset++) before.begin(offset)
  for (let offset = 11; offset < 40; offset += 2) before.done(offset)
  const { offset, note } = before.commit({ takenTo: 100 })
  const after = tracker(offset, note)
  const done = Array.from({ length: 60 }, (_, index) => index + 5).filter((one) => after.wasDone(one))
  expect(done).toEqual(Array.from({ length: 15 }, (_, index) => 11 + 2 * index))
  expect(doneInNote(note)).toBe(15)
  expect(after.suspectsTo).toBe(100)
})

test("a member that has given a partition up leaves no suspects, and a short note leaves out what is done", () => {
  const offsets = tracker()
  offsets.begin(10)
  offsets.begin(11)
  offsets.done(11)
  expect(tracker(10, offsets.commit().note).suspectsTo).toBe(0)
  expect(offsets.commit({ takenTo: 12, withDone: false })).toEqual({ offset: 10, note: "taken:12" })
})

test("a note of another program says nothing", () => {
  for (const note of ["hello", "done", "taken:x", '{"a":1}', "done:*"]) {
    const offsets = tracker(10, note)
    expect([offsets.wasDone(10), offsets.suspectsTo, doneInNote(note)]).toEqual([false, 0, 0])
  }
})

test("the longest note that can occur fits into what a broker accepts", () => {
  const offsets = tracker(2 ** 52)
  offsets.begin(2 ** 52)
  offsets.passTo(2 ** 52 + 30_000)
  expect(offsets.commit({ takenTo: 2 ** 52 + 30_512 }).note.length).toBeLessThanOrEqual(4_096)
})
