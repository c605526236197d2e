// Which keys the queued writes hold back.
import { expect, test } from "bun:test"
import { QueuedWrites } from "../../../src/engine/writing/QueuedWrites.ts"

const uuid = "0".repeat(32)

test("a key is held until every write that holds it back is answered", () => {
  const queued = new QueuedWrites()
  const [change, cancel] = [{}, {}]
  queued.add(change, uuid, true)
  queued.add(cancel, uuid, true)
  expect(queued.remove(change, uuid)).toBe(false)
  expect(queued.isHeld(uuid)).toBe(true)
  expect(queued.remove(cancel, uuid)).toBe(true)
  expect(queued.isHeld(uuid)).toBe(false)
  expect(queued.of(uuid)).toBe(0)
})

test("the same write queued twice holds its key until both are answered, and no longer", () => {
  const queued = new QueuedWrites()
  const change = {}
  queued.add(change, uuid, true)
  queued.add(change, uuid, true)
  expect(queued.remove(change, uuid)).toBe(false)
  expect(queued.isHeld(uuid)).toBe(true)
  expect(queued.remove(change, uuid)).toBe(true)
  expect(queued.isHeld(uuid)).toBe(false)
})

test("a write that holds nothing back is only counted", () => {
  const queued = new QueuedWrites()
  const create = {}
  queued.add(create, uuid, false)
  expect([queued.of(uuid), queued.isHeld(uuid)]).toEqual([1, false])
  expect(queued.remove(create, uuid)).toBe(false)
  expect(queued.of(uuid)).toBe(0)
})
