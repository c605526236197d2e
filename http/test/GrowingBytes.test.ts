import { describe, expect, test } from "bun:test"
import { GrowingBytes, slowGrowthBytes } from "../src/GrowingBytes.ts"

const megabytes = 16 * 1024 * 1024
const piece = (bytes: number, value: number): Uint8Array => new Uint8Array(bytes).fill(value)

describe("growing bytes", () => {
  test("use little memory while little has arrived, however much was announced", () => {
    for (const declaredBytes of [megabytes, undefined]) {
      const growing = new GrowingBytes({ maxBytes: megabytes, declaredBytes })
      for (let arrived = 100; arrived <= slowGrowthBytes; arrived += 100) {
        growing.append(piece(100, 1))
        expect(growing.capacityBytes).toBeLessThanOrEqual(2 * arrived)
      }
    }
  })

  test("get their declared length in one step, and never more than declared or allowed", () => {
    const declared = new GrowingBytes({ maxBytes: megabytes, declaredBytes: 200_000 })
    declared.append(piece(slowGrowthBytes + 1, 1))
    expect(declared.capacityBytes).toBe(200_000)
    const small = new GrowingBytes({ maxBytes: megabytes, declaredBytes: 150 })
    small.append(piece(100, 1))
    expect(small.capacityBytes).toBe(150)
    const undeclared = new GrowingBytes({ maxBytes: 150_000, declaredBytes: undefined })
    undeclared.append(piece(100_000, 1))
    expect(undeclared.capacityBytes).toBe(150_000)
  })

  test("free the smaller buffer at once when they grow", () => {
    const growing = new GrowingBytes({ maxBytes: megabytes, declaredBytes: undefined })
    growing.append(piece(1_000, 1))
    const { bytes: before } = growing
    growing.append(piece(5_000, 2))
    expect([before.length, growing.bytes.length]).toEqual([0, 6_000])
  })

  test("keep all pieces in order, and keep nothing after they are freed", () => {
    const growing = new GrowingBytes({ maxBytes: megabytes, declaredBytes: undefined })
    const pieces = [10, 1_000, 70_000, 3, 200_000].map((bytes, index) => piece(bytes, index + 1))
    for (const one of pieces) growing.append(one)
    expect(Buffer.concat(pieces).equals(growing.bytes)).toBe(true)
    const { bytes } = growing
    growing.free()
    expect([growing.capacityBytes, growing.bytes.length, bytes.length]).toEqual([0, 0, 0])
    growing.append(piece(5, 9))
    expect([...growing.bytes]).toEqual([9, 9, 9, 9, 9])
  })
})
