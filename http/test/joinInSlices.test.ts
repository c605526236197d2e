import { expect, test } from "bun:test"
import { joinInSlices } from "../src/joinInSlices.ts"

const written = async (items: ReadonlyArray<string>) => {
  let pauses = 0
  const pause = async () => {
    pauses++
  }
  return { text: await joinInSlices(items, (item) => `"${item}"`, pause), pauses }
}

test("a short list is written at once", () => {
  expect(joinInSlices(["a", "b"], (item) => item)).toBe("a,b")
  expect(joinInSlices([], String)).toBe("")
})

test("a long list is written in slices", async () => {
  const items = Array.from({ length: 1_000 }, (_, index) => `item ${index}`)
  const { text, pauses } = await written(items)
  expect(JSON.parse(`[${text}]`)).toEqual(items)
  expect(pauses).toBe(3)
})

test("a list with large items is written in more slices", async () => {
  const large = "x".repeat(100_000)
  const { text, pauses } = await written(new Array(100).fill(large))
  expect(text.length).toBe(100 * 100_003 - 1)
  expect(pauses).toBeGreaterThanOrEqual(16)
})
