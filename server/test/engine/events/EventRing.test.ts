import { expect, test } from "bun:test"
import { EventRing } from "../../../src/engine/events/EventRing.ts"
import { sampleEvent } from "../../../testkit/sampleEvent.ts"

const idsAfter = (ring: EventRing, number: number, limit?: number) => {
  const { exclusiveAfter, events } = ring.after(number, limit)
  return [exclusiveAfter, ...events.map(({ event }) => event.timerId)]
}

test("events are numbered without gaps, and a page begins where the reader stands", () => {
  const ring = new EventRing({ eventsMax: 100, keptMs: 1_000 }, 7)
  for (const timerId of ["a", "b", "c"]) ring.push(sampleEvent({ timerId }), 0)
  expect(ring.last).toBe(10)
  expect(idsAfter(ring, 7)).toEqual([7, "a", "b", "c"])
  expect(idsAfter(ring, 8, 1)).toEqual([8, "b"])
  expect(idsAfter(ring, 10)).toEqual([10])
})

test("only a limited number of events is kept, for a limited time, and a page says where it begins", () => {
  const ring = new EventRing({ eventsMax: 3, keptMs: 1_000 })
  for (const timerId of ["a", "b", "c", "d"]) ring.push(sampleEvent({ timerId }), 0)
  expect(idsAfter(ring, 0)).toEqual([1, "b", "c", "d"])
  expect([ring.covers(0), ring.covers(1)]).toEqual([false, true])
  ring.push(sampleEvent({ timerId: "e" }), 1_001)
  expect(idsAfter(ring, 0)).toEqual([4, "e"])
})

test("the memory of dropped events is freed, whatever number passes through", () => {
  const ring = new EventRing({ eventsMax: 10, keptMs: 1_000 })
  for (let place = 1; place <= 10_000; place++) ring.push(sampleEvent({ timerId: `t${place}` }), place)
  expect(ring.size).toBe(10)
  expect(idsAfter(ring, 9_998)).toEqual([9_998, "t9999", "t10000"])
})

test("after a restart nobody can continue from before, and a number from the future is not covered", () => {
  const ring = new EventRing({ eventsMax: 10, keptMs: 1_000 })
  ring.push(sampleEvent(), 0)
  const before = ring.last
  ring.restart()
  expect([ring.covers(before), ring.covers(ring.last), ring.covers(ring.last + 1)]).toEqual([
    false,
    true,
    false,
  ])
})
