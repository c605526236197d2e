import { describe, expect, test } from "bun:test"
import { KeyLanes } from "../src/KeyLanes.ts"

describe("KeyLanes", () => {
  test("one item of a key at a time, the keys in turn", () => {
    const lanes = new KeyLanes<string>()
    for (const item of ["a1", "a2", "b1", "a3"]) lanes.push(item.slice(0, 1), item)
    expect([lanes.next(), lanes.next(), lanes.next()]).toEqual(["a1", "b1", undefined])
    lanes.finish("a")
    expect([lanes.next(), lanes.next()]).toEqual(["a2", undefined])
    lanes.push("b", "b2")
    lanes.finish("b")
    lanes.finish("a")
    expect([lanes.next(), lanes.next(), lanes.next()]).toEqual(["b2", "a3", undefined])
  })

  test("an item that is put back is first in its lane again", () => {
    const lanes = new KeyLanes<string>()
    for (const item of ["a1", "a2"]) lanes.push("a", item)
    lanes.putBack("a", lanes.next() ?? "nothing")
    expect(lanes.isBusy("a")).toBe(false)
    expect(lanes.next()).toBe("a1")
    expect(lanes.isBusy("a")).toBe(true)
  })

  test("a key without items is forgotten", () => {
    const lanes = new KeyLanes<number>()
    for (let key = 0; key < 100; key++) {
      lanes.push(String(key), key)
      lanes.next()
      expect(lanes.size).toBe(1)
      lanes.finish(String(key))
    }
    expect(lanes.size).toBe(0)
  })
})
